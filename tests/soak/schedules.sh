#!/bin/bash
# Four layers under many schedules.
#   schedules.sh MOKGEN SEEDS
#
# Each layer is run as a compiled kernel under SEEDS schedules on the host target (all must give the reference's result and the
# same bits), and its protocol is explored by the engine of `check` under SEEDS seeds of rings, CTA counts and sizes. They are
# small, so that one launch takes milliseconds, and every ring has to go round. The last line is "N passed, N failed".
set -u
[ $# -eq 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
mokgen=$1 seeds=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-schedules-XXXXXX")
trap 'rm -rf "$work"' EXIT
export MOKGEN_CACHE_DIR=$work/cache LC_ALL=C
passed=0 failed=0

attempt() {
  local start=$SECONDS
  timeout 36000 "$mokgen" "$@" -q >"$work/out" 2>"$work/err"
  local status=$?
  echo "$name, $1: exit code $status, $((SECONDS - start)) s: $(tail -1 "$work/out")"
  if [ "$status" = 0 ] && [ ! -s "$work/err" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    sed 's/^/  | /' "$work/model.lua" "$work/err"
  fi
}

# layer NAME TOKENS ROUTING: the description is on stdin.
layer() {
  name=$1
  cat >"$work/model.lua"
  attempt run "$work/model.lua" --target host --tokens "$2" --routing "$3" --seeds "$seeds"
  attempt check "$work/model.lua" --seeds "$seeds"
}

layer "one rank, shared expert, communication SMs" 70 uniform <<'LUA'
model { hidden = 64, intermediate = 64, experts = 3, top_k = 2, shared_experts = 1 }
topology { gpu = { base = "host", sms = 4 }, gpus = 1 }
workload { tokens_per_gpu = 72 }
schedule { comm = "sms", comm_sms = 1, ring_rows = 64, minibatch_rows = 64, tile_m = 64, tile_n = 32 }
LUA
layer "two ranks, epilogue, clamp" 50,31 zipf:1.0 <<'LUA'
model { hidden = 64, intermediate = 72, experts = 5, top_k = 2, shared_experts = 2, activation = "geglu", clamp = 0.5 }
topology { gpu = { base = "host", sms = 4 }, gpus = 2 }
workload { tokens_per_gpu = 50 }
schedule { comm = "epilogue", comm_sms = 1, ring_rows = 64, minibatch_rows = 64, tile_m = 64, tile_n = 48 }
LUA
layer "three ranks, uneven experts, communication SMs" 20,0,33 uniform <<'LUA'
model { hidden = 72, intermediate = 64, experts = 7, top_k = 3, activation = "relu2" }
topology { gpu = { base = "host", sms = 3 }, gpus = 3 }
workload { tokens_per_gpu = 40 }
schedule { comm = "sms", comm_sms = 1, ring_rows = 128, minibatch_rows = 64, tile_m = 64, tile_n = 32 }
LUA
layer "four ranks, fewer experts, epilogue" 30,1,0,40 hot:1 <<'LUA'
model { hidden = 64, intermediate = 64, experts = 3, top_k = 2, shared_experts = 1 }
topology { gpu = { base = "host", sms = 3 }, gpus = 4 }
workload { tokens_per_gpu = 40 }
schedule { comm = "epilogue", comm_sms = 1, ring_rows = 64, minibatch_rows = 64, tile_m = 64, tile_n = 64 }
LUA

echo "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" = 0 ]
