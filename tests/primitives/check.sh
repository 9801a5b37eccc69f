#!/bin/bash
# Compiles the kernels of one family for the host target and checks them.
#   check.sh MOKGEN COMPILE_CASE GPU_PRIMITIVES FOLDER FAMILY
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$here/images.sh" "$1" "$2" host "$4" "$5" || exit
folders=()
for folder in "$4"/*; do [ "$(cat "$folder/family")" = "$5" ] && folders+=("$folder"); done
"$3" "${folders[@]}"
