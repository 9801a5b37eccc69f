#!/bin/bash
# Compiles the kernels of plans.txt as the tool compiles its own, each into a folder with the headers that it was made from.
#   images.sh MOKGEN COMPILE_CASE TARGET FOLDER [FAMILY]
# MOKGEN emits plan, layout and `activate`; COMPILE_CASE (tests/compile) checks registers, spills and stack. Exit code 77 if the
# target's compiler is not installed.
set -u
[ $# -ge 4 ] || { sed -n '3s/^# *//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
mokgen=$1 compile_case=$2 target=$3 out=$4 only=${5:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
case $target in host) image=kernel.host.so ;; *) image=forward.cubin ;; esac
# The kernel of one family, of one file, for the plan in a folder.
compose() { # FAMILY FOLDER
  local text=$here/$1.cu
  case $1 in epilogue | gather) text=$here/product.cu ;; esac
  sed -n '/^MOK_FN float activate/,/^}/p' "$2/kernel.cu" >"$2/activate.h"
  [ -s "$2/activate.h" ] || { echo "images.sh: the emitted kernel has no function activate" >&2; return 1; }
  { echo "#define FAMILY_$1"
    sed -e "/^#include \"cases.h\"/{r $here/cases.h" -e d -e "}" \
      -e "/^#include \"activate.h\"/{r $2/activate.h" -e d -e "}" "$text"
  } >"$2/composed" && mv "$2/composed" "$2/kernel.cu" && rm "$2/activate.h" && echo "$1" >"$2/family"
}
words=$("$here/../support/activations.sh" "$mokgen") || exit 1
plans() {
  sed 's/#.*//; s/ *| */|/g; s/^ *//; s/ *$//' "$here/plans.txt" | grep '|' | while IFS= read -r line; do
    case $line in
      *'*'*) for word in $words; do echo "${line//'*'/$word}"; done ;;
      *) echo "$line" ;;
    esac
  done
}
plans | {
  count=0
  while IFS='|' read -r name family overrides; do
    [ -z "$only" ] || [ "$only" = "$family" ] || continue
    count=$((count + 1))
    folder=$out/$name
    rm -rf "$folder"
    mkdir -p "$out"
    flags=()
    for override in $overrides; do flags+=(-D "$override"); done
    "$mokgen" -q --emit=cuda "$here/../gpu/models/tiny.lua" --target sm_90a ${flags[@]+"${flags[@]}"} -o "$folder" || exit 1
    compose "$family" "$folder" || exit 1
    threads=$(sed -n 's/^#define PLAN_THREADS *\([0-9]*\).*/\1/p' "$folder/mok_plan.h")
    registers=$((65536 / threads / 8 * 8))
    [ $registers -le 255 ] || registers=255
    "$compile_case" --image "$folder/$image" "$target" "$folder" $registers || { code=$?; echo "images.sh: $name"; exit $code; }
  done
  [ $count -gt 0 ] || { echo "images.sh: plans.txt has no family $only" >&2; exit 2; }
}
