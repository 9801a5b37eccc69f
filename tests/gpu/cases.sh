#!/bin/bash
# cases.sh TOOL...: the lines of cases.txt, without comments and spaces, with each word of model.activation for '*'.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=$here/activations.sh # packed beside this file
[ -x "$list" ] || list=$here/../support/activations.sh
words=$("$list" "$@") || exit 1
sed 's/#.*//; s/ *| */|/g; s/^ *//; s/ *$//' "$here/cases.txt" | grep '|' | while IFS= read -r line; do
  case $line in
    *'*'*) for word in $words; do echo "${line//'*'/$word}"; done ;;
    *) echo "$line" ;;
  esac
done
