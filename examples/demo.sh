#!/usr/bin/env bash
# From a clean clone to a checked layer. Usage: examples/demo.sh [--no-build]
#
# Builds mokgen, prints the plan of a Kimi K2 layer on two H200s, writes its package with a cubin, and runs a small layer on the
# host target against the reference. No GPU needed. Exit code 0 only if all of it worked.
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

step "all of it worked"
