#!/usr/bin/env bash
# examples/embed.c as its first comment says, against the installed tree, on the emulated driver.
# Arguments: BUILD SOURCE CMAKE CC CXX EMULATED_CUDA
. "$(dirname "${BASH_SOURCE[0]}")/tree.sh"
emulated=$6 examples=$prefix/share/doc/mokgen/examples
cd "$work"
[ "$(wc -l <"$examples/embed.c")" -lt 120 ] || fail "embed.c has 120 lines or more"
eval "\"$cc\" -Wall -Wextra -Wpedantic -Werror \"$examples/embed.c\" $(pkg-config --cflags --libs mok) -lm -o embed"

# Without a driver it says so.
if ! ls /dev/nvidia0 >/dev/null 2>&1; then
  code=0
  ./embed "$examples/small.lua" >log 2>&1 || code=$?
  [ "$code" = 1 ] && grep -q 'NVIDIA driver' log || { cat log; fail "without a driver: exit code $code"; }
fi

export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(dirname "$emulated") EMULATED_KERNEL=$work/host.mok/kernel.host.so
code=0
mokgen build -q --emit=cubin -o cubin -D topology.gpu=auto "$examples/small.lua" >log 2>&1 || code=$?
[ "$code" != 8 ] || { cat log; echo "no NVRTC"; exit 77; }
[ "$code" = 0 ] || { cat log; exit 1; }
for fields in '' '-D model.shared_experts=0 -D model.top_k=4' '-D model.hidden=200 -D model.experts=5 -D workload.tokens_per_gpu=37'; do
  # shellcheck disable=SC2086
  mokgen build -q --emit=model $fields "$examples/small.lua" >layer.lua
  mokgen build -q --target host -D topology.gpu=auto -o host.mok layer.lua
  ./embed layer.lua >log 2>&1 || { cat log; fail "embed with '$fields': exit code $?"; }
  grep -qE '^[0-9]+ tokens: [1-9][0-9]* values, 0 wrong$' log || { cat log; fail "embed with '$fields'"; }
done
# The check can fail: a kernel of another activation.
mokgen build -q --target host -D topology.gpu=auto -D model.activation=geglu -o host.mok layer.lua
code=0
./embed layer.lua >log 2>&1 || code=$?
[ "$code" = 6 ] || { cat log; fail "another layer's kernel: exit code $code, expected 6"; }
echo "embed.c: $(wc -l <"$examples/embed.c") lines, 3 layers"
