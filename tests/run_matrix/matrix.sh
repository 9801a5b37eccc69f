#!/bin/bash
# Layers drawn at random, each run on the host target and checked against the reference.
#   matrix.sh MOKGEN FIRST COUNT     runs configurations FIRST .. FIRST + COUNT - 1 of a fixed sequence
#
# A configuration is one kernel (experts 1..8, k 1..4, H and I multiples of 8 from 64 to 256, shared experts 0..2, clamp,
# activation, GPU row, 1..4 ranks, a ring of all rows, of 128 or of 64) and five runs of it: T = 0, 1, the capacity and two
# between, one of them with another T on each rank; each with its own routing, mask and two schedules that must agree bitwise.
# A configuration also runs in other ways, which must give the same bits: where the down product's epilogue pushes rows, with
# communication SMs too; own rows copied and in place, for one rank and for some of several; and CTAs in pairs as well as alone, up tiles with them a
# minibatch ahead where the ring allows. The default test suite runs the first 40; before closing work on the protocol run more by
# hand:
#   tests/run_matrix/matrix.sh build/mokgen 0 400
set -u
[ $# -eq 3 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
mokgen=$1 first=$2 count=$3
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-matrix-XXXXXX")
trap 'rm -rf "$work"' EXIT
export MOKGEN_CACHE_DIR=$work/cache LC_ALL=C
runs=0 failed=0
activations=$("$(dirname "${BASH_SOURCE[0]}")/../support/activations.sh" "$mokgen") || exit 2

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
  pick $activations; activation=$picked
  pick nil nil 0.5 1.25; clamp=$picked
  pick host host host H200; gpu=$picked
  pick 1 1 2 2 3 4; gpus=$picked
  capacity=100
  case $(($1 % 3)) in 0) ring='"auto"' pairs='"auto"' ;; 1) ring=128 pairs=384 ;; 2) ring=64 pairs=256 ;; esac
  if [ "$gpus" = 1 ] || [ $(($1 % 4)) = 2 ]; then ways='copy direct'; else ways=copy; fi
  comm=sms
  [ $(($1 % 2)) = 0 ] || ways="$ways other" comm=epilogue
  ways="$ways pairs"
  case $ways in *direct*) ways="$ways direct-pairs" ;; esac
}

# What is replaced in the model to run it in the way $1.
overrides() {
  set -- "$1" -D schedule.comm="$comm" -D schedule.own_rows=copy -D schedule.cluster=1 -D schedule.ring_rows="${ring//\"/}"
  case $1 in *pairs) set -- "$@" -D schedule.cluster=2 -D schedule.ring_rows="${pairs//\"/}" ;; esac
  case $1-$pairs in *pairs-[0-9]*) set -- "$@" -D schedule.minibatch_rows=128 ;; esac
  case $1 in direct*) set -- "$@" -D schedule.own_rows=direct ;; esac
  case $1 in other) set -- "$@" -D schedule.comm=sms ;; esac
  shift
  flags=("$@")
}

write_model() {
  cat <<LUA
model { name = "matrix-$1", hidden = $hidden, intermediate = $intermediate, experts = $experts, top_k = $top_k,
        shared_experts = $shared, activation = "$activation", clamp = $clamp }
topology { gpu = "$gpu", gpus = $gpus }
workload { tokens_per_gpu = $capacity }
schedule { tile_m = 64, tile_n = $((16 << $1 % 4)) }
LUA
}

for ((c = first; c < first + count; ++c)); do
  configuration "$c"
  write_model "$c" >"$work/model.lua"
  below 98; a=$((draw + 2))
  below 98; ragged=$((draw + 2))
  for ((r = 1; r < gpus; ++r)); do ragged=$ragged,$(((a + 31 * r) % (capacity + 1))); done
  for tokens in 0 1 "$a" "$ragged" "$capacity"; do
    pick uniform zipf:1.2 dup "hot:$((experts - 1))"; routing=$picked
    pick 0 0 0.3 1; mask=$picked
    below 1000
    first_digest=
    for way in $ways; do
      overrides "$way"
      set -- run "$work/model.lua" --target host "${flags[@]}" \
        --tokens "$tokens" --routing "$routing" --mask "$mask" --seed "$draw" --seeds 2 -q
      timeout 120 "$mokgen" "$@" >"$work/out" 2>"$work/err"
      status=$?
      runs=$((runs + 1))
      digest=$(sed -n 's/^PASS .*\(digest=[0-9a-f]*\).*/\1/p' "$work/out")
      : "${first_digest:=$digest}"
      [ "$status" = 0 ] && [ -n "$digest" ] && [ "$digest" = "$first_digest" ] && continue
      failed=$((failed + 1))
      echo "FAIL: configuration $c: exit code $status, ${digest:-no digest} after ${first_digest:-none}: mokgen $*"
      sed 's/^/  /' "$work/model.lua"
      cat "$work/out" "$work/err" | sed 's/^/  | /' | head -20
    done
  done
  echo "configuration $c: E=$experts k=$top_k H=$hidden I=$intermediate shared=$shared $activation clamp=$clamp" \
    "on $gpus x $gpu, ring $ring, $comm: $ways"
done
echo "$runs runs, $failed failed"
[ "$runs" -gt 0 ] && [ "$failed" = 0 ]
