#!/bin/bash
# templates/sample, like tests/host/direct and ranks, is what the emitter prints for its model.lua, to the byte; nobody edits it by hand.
#   sample.sh MOKGEN SAMPLE_FOLDER            fails with a unified diff
#   sample.sh MOKGEN SAMPLE_FOLDER --update   rewrites it
set -u
mokgen=$1 sample=$2 update=${3:-}
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-sample-XXXXXX")
trap 'rm -rf "$work"' EXIT
"$mokgen" -q --emit=cuda "$sample/model.lua" -o "$work/now" || exit 1
if [ "$update" = --update ]; then
  for file in "$work"/now/*; do cmp -s "$file" "$sample/${file##*/}" || cp "$file" "$sample/"; done
  exit 0
fi
diff -u --exclude=model.lua "$sample" "$work/now" && exit 0
echo "If the change is meant: cmake --build BUILD -t update-golden"
exit 1
