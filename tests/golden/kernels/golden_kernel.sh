#!/bin/bash
# One complete case: what the tool prints for model.lua at the stages that matter, against the files beside it.
#   golden_kernel.sh MOKGEN CASE_FOLDER            fails with a unified diff
#   golden_kernel.sh MOKGEN CASE_FOLDER --update   rewrites them
set -u
mokgen=$1 case=$2 update=${3:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-golden-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$case" || exit 2
for pass in assign-roles insert-sync; do
  "$mokgen" -q --emit=mok:$pass model.lua -o "$work/$pass.mlir" || exit 1
done
"$mokgen" -q --emit=cuda model.lua -o "$work/src" || exit 1
mv "$work/src"/* "$work" && rmdir "$work/src"
failed=0
for file in $(cd "$work" && ls); do
  if [ "$update" = --update ]; then
    cmp -s "$work/$file" "$file" || { cp "$work/$file" "$file"; echo "updated $case/$file"; }
  elif ! diff -u --label "$file" --label "$file, now" "$file" "$work/$file"; then
    failed=1
  fi
done
for file in *; do # a file that is no longer printed is as wrong as one that is missing
  [ "$file" = model.lua ] || [ -e "$work/$file" ] || { echo "stale: $case/$file"; failed=1; }
done
[ "$failed" = 0 ] || echo "If the change is meant: cmake --build BUILD -t update-golden"
exit $failed
