#!/bin/bash
# Measures the layer beside its baselines on a machine with GPUs, CUDA and PyTorch, from the folder that pack.sh made (this
# file is in it), and how fast rows are moved by how many SMs.
#   run.sh [--only NAME[,NAME..]] [--warm SECONDS] [--measure SECONDS] [--ranks 2]
# NAME: a shape of shapes.txt, or link for the rows. Tables go to stdout, and with logs to $OUT if that is set. With --ranks 2: two
# GPUs and NCCL, all of it in one run.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ranks=1 only='' flags=()
while [ $# -gt 0 ]; do
  case $1 in
    --only) [ $# -gt 1 ] || exit 2; only=$2; shift ;;
    --warm | --measure) [ $# -gt 1 ] || exit 2; flags+=("$1" "$2"); shift ;;
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
cd "$here" || exit 1
status=0
table() { # NAME PROGRAM FLAGS...
  python3 "${@:2}" 2> >(tee -a "$log/bench.err" >&2) | tee "$log/$1.md"
  [ "${PIPESTATUS[0]}" = 0 ] || status=1
}
case ,$only, in
  ,, | *,link,*)
    table link-1 link.py
    [ "$ranks" = 1 ] || table "link-$ranks" link.py --ranks "$ranks"
    ;;
esac
shapes=$(tr , '\n' <<<"$only" | grep -vx link | paste -s -d ,)
if [ -z "$only" ] || [ -n "$shapes" ]; then
  flags+=(--only "$shapes")
  case $ranks in
    1) table bench-1 layer_vs_pair.py "${flags[@]}" ;;
    *) table "bench-$ranks" layer_vs_nccl.py --ranks "$ranks" "${flags[@]}" ;;
  esac
fi
exit "$status"
