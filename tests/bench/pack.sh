#!/bin/bash
# Adds to the folder of tests/gpu/pack.sh what run.sh of this folder needs.
#   pack.sh BUILD
# The packages are those of shapes.txt, for one rank and for two, without the shared expert: what they are compared with has none.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# = 1 ] && [ -x "$1/mokgen" ] || { sed -n '3s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
build=$(cd "$1" && pwd)
bench=$build/gpu-pack/bench
rm -rf "$bench"
mkdir -p "$bench/packages"
cp "$here/run.sh" "$here/shapes.txt" "$here"/*.py "$here/link.cu" "$here/../../templates/sm90/ptx.h" "$bench"
cp -L "$build/libmok.so" "$bench/libmok.so"
strip --strip-unneeded "$bench/libmok.so"
sed 's/#.*//; s/ //g' "$here/shapes.txt" | grep '|' | while IFS='|' read -r name model tokens _; do
  for ranks in 1 2; do
    "$build/mokgen" build -q --target sm_90a "$here/../gpu/models/$model.lua" -D model.shared_experts=0 \
      -D workload.tokens_per_gpu="$tokens" -D topology.gpus=$ranks -o "$bench/packages/$name-$ranks.mok"
  done
done
du -sh "$bench" | cut -f 1 | sed "s|\$| $bench|"
