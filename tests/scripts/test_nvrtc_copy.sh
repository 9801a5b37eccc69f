#!/usr/bin/env bash
# A copy of NVRTC outside the loader's path, as the set-up script makes it, compiles with the builtins beside it.
# Argument: mokgen.
set -u
mokgen=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-nvrtc-XXXXXX")
trap 'rm -rf "$work"' EXIT

found=
for library in "${MOKGEN_NVRTC:-}" "$(dirname "$mokgen")/nvrtc/libnvrtc.so.13" "${CUDA_PATH:-/none}/lib64/libnvrtc.so.13" \
  /usr/local/cuda/lib64/libnvrtc.so.13 /usr/local/cuda-*/lib64/libnvrtc.so.13 /opt/cuda/lib64/libnvrtc.so.13 \
  /usr/lib/x86_64-linux-gnu/libnvrtc.so.13; do
  if [ -f "$library" ]; then found=$library; break; fi
done
if [ -z "$found" ]; then
  echo "skipped: no libnvrtc.so.13 here"
  exit 77
fi

mkdir "$work/nvrtc"
cp "$found" "$work/nvrtc/libnvrtc.so.13"
cp "$(dirname "$found")"/libnvrtc-builtins.so.13.* "$work/nvrtc/"
cat >"$work/model.lua" <<'END'
model { hidden = 64, intermediate = 64, experts = 2, top_k = 1 }
topology { gpu = "H200", gpus = 1 }
workload { tokens_per_gpu = 128 }
END
export LC_ALL=C MOKGEN_NVRTC=$work/nvrtc/libnvrtc.so.13
export LD_DEBUG_OUTPUT=$work/loaded
if ! LD_DEBUG=files "$mokgen" build --no-cache "$work/model.lua" -o "$work/model.mok" 2>"$work/said"; then
  cat "$work/said"
  exit 1
fi
# On a machine with a toolkit the loader would find other builtins; these must be the copy's.
if ! cat "$work"/loaded.* | grep -q "calling init: $work/nvrtc/libnvrtc-builtins"; then
  echo "libnvrtc-builtins does not come from the folder of libnvrtc:"
  cat "$work"/loaded.* | grep "calling init: .*builtins"
  exit 1
fi
