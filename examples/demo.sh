#!/usr/bin/env bash
# From a clean clone to a checked layer. Usage: examples/demo.sh [--no-build]
#
# Builds mokgen, prints the plan of a Kimi K2 layer on two H200s, writes its package with a cubin, and runs a small layer on the
# host target against the reference. No GPU needed; with Hopper GPUs the Kimi K2 layer runs on two, or with both ranks on one, and
# the output says which. Exit code 0 only if all of it worked.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"

case ${1:-} in
  '' | --no-build) ;;
  *) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
mok_setup "$@"

step() { printf '\n== %s\n' "$*"; }
examples=$mok_root/examples
package=$mok_build/demo/kimi-k2-2xh200.mok
mkdir -p "$mok_build/demo"

step "the plan: mokgen explain examples/kimi-k2-2xh200.lua"
"$mokgen" explain "$examples/kimi-k2-2xh200.lua"

step "the package: mokgen build examples/kimi-k2-2xh200.lua -o ${package#"$mok_root"/}"
"$mokgen" build "$examples/kimi-k2-2xh200.lua" -o "$package"
[ -s "$package/forward.cubin" ] || { mok_say "the package has no cubin"; exit 1; }
ls -l "$package"

step "a small layer on the host target: mokgen run examples/small.lua --target host"
"$mokgen" run "$examples/small.lua" --target host

# On GPUs if there are Hopper ones: two, or both ranks on one.
hoppers=0
if command -v nvidia-smi >/dev/null; then
  hoppers=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -c '^9\.0' || true)
fi
if [ "$hoppers" -ge 2 ]; then
  step "the Kimi K2 layer on two of $hoppers GPUs: mokgen run examples/kimi-k2-2xh200.lua --target sm_90a"
  "$mokgen" run "$examples/kimi-k2-2xh200.lua" --target sm_90a --tokens 512 --check sample:16
elif [ "$hoppers" -eq 1 ]; then
  step "the Kimi K2 layer, both ranks on one GPU: mokgen run examples/kimi-k2-2xh200.lua --target sm_90a --colocate"
  "$mokgen" run "$examples/kimi-k2-2xh200.lua" --target sm_90a --colocate --tokens 512 --check sample:16
else
  step "no Hopper GPU here: the layer is not run on one"
fi

step "all of it worked"
