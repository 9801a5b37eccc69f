#!/bin/bash
# Collects what run.sh needs on a machine that has GPUs, CUDA and little else, in BUILD/gpu-pack.
#   pack.sh BUILD
# BUILD is a build folder with mokgen in it. The kernels of all cases are compiled here and go along as a kernel cache, which counts
# on a machine with the same NVRTC; another one compiles them itself.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 1 ] && [ -x "$1/mokgen" ] || { sed -n '3,4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
build=$(cd "$1" && pwd)
pack=$build/gpu-pack
rm -rf "$pack"
mkdir -p "$pack/bin" "$pack/lib" "$pack/models"
strip -o "$pack/bin/mokgen" "$build/mokgen"
for test in "$build"/tests/gpu/gpu_*; do [ -x "$test" ] && [ -f "$test" ] && strip -o "$pack/bin/$(basename "$test")" "$test"; done
strip -o "$pack/bin/gpu_primitives" "$build/tests/primitives/gpu_primitives"
cp "$here/run.sh" "$here/cases.sh" "$here/cases.txt" "$here/../support/activations.sh" "$pack"
cp "$here"/models/*.lua "$pack/models"
# The C library that mokgen was linked with, for a machine with an older one.
for library in ld-linux-x86-64.so.2 libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 librt.so.1 libutil.so.1; do
  for folder in /lib64 /lib/x86_64-linux-gnu; do
    [ -e "$folder/$library" ] && cp -L "$folder/$library" "$pack/lib" && break
  done
done
export MOKGEN_CACHE_DIR=$pack/cache
"$here/cases.sh" "$build/mokgen" | while IFS='|' read -r _ _ model flags; do
  echo "$model $(grep -o -- '-D [^ ]*' <<<"$flags" | tr '\n' ' ')"
done | sort -u | while read -r model flags; do
  # shellcheck disable=SC2086
  "$build/mokgen" build -q --target sm_90a "$pack/models/$model.lua" $flags -o "$pack/x.mok"
  rm -rf "$pack/x.mok"
done
"$here/../primitives/images.sh" "$build/mokgen" "$build/tests/compile/compile_case" sm_90a "$pack/primitives" >/dev/null
du -sh "$pack" | cut -f 1 | sed "s|\$| $pack|"
