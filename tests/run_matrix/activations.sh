#!/bin/bash
# activations.sh MOKGEN: every activation on the host target, on one rank and, clamped, on two.
set -u
mokgen=$1 failed=0 runs=0
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-activations-XXXXXX")
trap 'rm -rf "$work"' EXIT
export MOKGEN_CACHE_DIR=$work/cache
words=$("$(dirname "${BASH_SOURCE[0]}")/../support/activations.sh" "$mokgen") || exit 1
for word in $words; do
  for variant in "1 nil" "2 0.5"; do
    read -r gpus clamp <<<"$variant"
    cat >"$work/model.lua" <<LUA
model { hidden = 72, intermediate = 40, experts = 3, top_k = 2, shared_experts = 1, activation = "$word", clamp = $clamp }
topology { gpu = "host", gpus = $gpus }
workload { tokens_per_gpu = 50 }
LUA
    runs=$((runs + 1))
    "$mokgen" run "$work/model.lua" -q && continue
    failed=$((failed + 1))
    echo "FAIL: $word, clamp $clamp, $gpus ranks"
  done
done
echo "$runs runs, $failed failed"
[ $runs -gt 0 ] && [ $failed = 0 ]
