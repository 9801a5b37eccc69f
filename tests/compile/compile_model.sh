#!/bin/bash
# Emits a description's kernel and hands it to compile_case.
#   compile_model.sh MOKGEN COMPILE_CASE TARGET MAX_REGISTERS DESCRIPTION -- INSTRUCTION...
set -u
mokgen=$1 compile_case=$2 target=$3 registers=$4 description=$5
shift 6
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-compile-XXXXXX")
trap 'rm -rf "$work"' EXIT
printf '%s\n' "$description" >"$work/model.lua"
"$mokgen" -q --emit=cuda "$work/model.lua" --target "$target" -o "$work/src" || exit 1
"$compile_case" "$target" "$work/src" "$registers" "$@"
