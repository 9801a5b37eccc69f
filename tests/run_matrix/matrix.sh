#!/bin/bash
# Layers drawn at random, each run on the host target and checked against the reference.
#   matrix.sh MOKGEN FIRST COUNT     runs configurations FIRST .. FIRST + COUNT - 1 of a fixed sequence
#
# A configuration is one kernel (experts 1..8, k 1..4, H and I multiples of 8 from 64 to 256, shared experts 0..2, clamp, activation,
# GPU row) and five runs of it: T = 0, 1, the capacity and two between, each with its own routing, mask and two schedules that must
# agree bitwise. The default test suite runs the first 40; before closing work on the protocol run more by hand:
#   tests/run_matrix/matrix.sh build/mokgen 0 400
set -u
[ $# -eq 3 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
mokgen=$1 first=$2 count=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-matrix-XXXXXX")
trap 'rm -rf "$work"' EXIT
export MOKGEN_CACHE_DIR=$work/cache LC_ALL=C
runs=0 failed=0

# Own generator: the sequence must not depend on the shell's version. below N: 0 .. N-1 in $draw.
state=0
below() {
  state=$((state * 6364136223846793005 + 1442695040888963407))
  draw=$((((state >> 33) & 0x7fffffff) % $1))
}
pick() { below $#; shift "$draw"; picked=$1; }

configuration() {
  state=$((($1 + 1) * 7919))
  below 2
  below 8; experts=$((draw + 1))
  below $((experts < 4 ? experts : 4)); top_k=$((draw + 1))
  below 25; hidden=$((64 + 8 * draw))
  below 25; intermediate=$((64 + 8 * draw))
  below 3; shared=$draw
  pick swiglu swiglu geglu relu2; activation=$picked
  pick nil nil 0.5 1.25; clamp=$picked
  pick host host host H200; gpu=$picked
  pick 1 1 1 1 2 3; gpus=$picked
  capacity=100
}

write_model() {
  cat <<LUA
model { name = "matrix-$1", hidden = $hidden, intermediate = $intermediate, experts = $experts, top_k = $top_k,
        shared_experts = $shared, activation = "$activation", clamp = $clamp }
topology { gpu = "$gpu", gpus = $gpus }
workload { tokens_per_gpu = $capacity }
LUA
}

for ((c = first; c < first + count; ++c)); do
  configuration "$c"
  write_model "$c" >"$work/model.lua"
  below 98; a=$((draw + 2))
  below 98; b=$((draw + 2))
  for tokens in 0 1 "$a" "$b" "$capacity"; do
    pick uniform zipf:1.2 dup "hot:$((experts - 1))"; routing=$picked
    pick 0 0 0.3 1; mask=$picked
    below 1000
    set -- run "$work/model.lua" --target host --tokens "$tokens" --routing "$routing" --mask "$mask" --seed "$draw" --seeds 2 -q
    timeout 120 "$mokgen" "$@" >"$work/out" 2>"$work/err"
    status=$?
    runs=$((runs + 1))
    [ "$status" = 0 ] && grep -q '^PASS ' "$work/out" && continue
    failed=$((failed + 1))
    echo "FAIL: configuration $c: exit code $status: mokgen $*"
    sed 's/^/  /' "$work/model.lua"
    cat "$work/out" "$work/err" | sed 's/^/  | /' | head -20
  done
  echo "configuration $c: E=$experts k=$top_k H=$hidden I=$intermediate shared=$shared $activation clamp=$clamp on $gpus x $gpu"
done
echo "$runs runs, $failed failed"
[ "$runs" -gt 0 ] && [ "$failed" = 0 ]
