#!/bin/bash
# Measures the layer beside its baselines on a machine with GPUs, CUDA and PyTorch, from the folder that pack.sh made (this
# file is in it).
#   run.sh [--only NAME[,NAME..]] [--warm SECONDS] [--measure SECONDS] [--ranks 2 [--eager]]
# Tables go to stdout, and with logs to $OUT if that is set. With --ranks 2: two GPUs and NCCL, all of it in one run.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ranks=1 flags=()
while [ $# -gt 0 ]; do
  case $1 in
    --only | --warm | --measure) [ $# -gt 1 ] || exit 2; flags+=("$1" "$2"); shift ;;
    --eager) flags+=("$1") ;;
    --ranks) [ $# -gt 1 ] || exit 2; ranks=$2; shift ;;
    *) sed -n '4s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
  esac
  shift
done
# NVLink multicast is used nowhere, by the baselines neither.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
log=${OUT:-$(mktemp -d "${TMPDIR:-/tmp}/mok-bench-XXXXXX")}
command -v nvidia-smi >/dev/null &&
  nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit --format=csv >"$log/gpus.csv"
case $ranks in
  1) program=layer_vs_pair.py ;;
  *) program=layer_vs_nccl.py flags+=(--ranks "$ranks") ;;
esac
cd "$here" && python3 "$program" ${flags[@]+"${flags[@]}"} 2> >(tee "$log/bench.err" >&2) | tee "$log/bench-$ranks.md"
exit "${PIPESTATUS[0]}"
