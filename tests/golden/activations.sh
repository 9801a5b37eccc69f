#!/bin/bash
# The function `activate` of kernel.cu for each activation, with and without a clamp, against activations.txt.
#   activations.sh MOKGEN            fails with a unified diff
#   activations.sh MOKGEN --update   rewrites it
set -u
mokgen=$1 update=${2:-} here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-golden-XXXXXX")
trap 'rm -rf "$work"' EXIT
words=$("$here/../support/activations.sh" "$mokgen") || exit 1
for word in $words; do
  for clamp in nil 7; do
    rm -rf "$work/src"
    "$mokgen" -q --emit=cuda - -o "$work/src" <<LUA || exit 1
model { name = "one", hidden = 64, intermediate = 64, experts = 1, top_k = 1, activation = "$word", clamp = $clamp }
topology { gpu = "host", gpus = 1 }
workload { tokens_per_gpu = 1 }
LUA
    sed -n '/^\/\* activation /,/^}/{s|  *[^ ]* \*/$| */|;p}' "$work/src/kernel.cu"
  done
done >"$work/now" || exit 1
if [ "$update" = --update ]; then
  cmp -s "$work/now" "$here/activations.txt" || { cp "$work/now" "$here/activations.txt"; echo "updated tests/golden/activations.txt"; }
elif ! diff -u --label activations.txt --label "activations.txt, now" "$here/activations.txt" "$work/now"; then
  echo "If the change is meant: cmake --build BUILD -t update-golden"
  exit 1
fi
