#!/bin/bash
# Tests on GPUs in one call, from a folder that pack.sh made (this file is in it) or from the tree.
#   run.sh [--fast] [--budget SECONDS] [--only GROUP[,GROUP..]] [--mokgen FILE] [--emulate LIBCUDA]
# --fast: no presets, sanitizer and timing. --budget: starts nothing new after so long (default 450). --emulate: with the emulated
# driver of tests/gpu/emulator instead of a GPU; groups primitives, preset, time and sanitizer are left out.
#
# One line for each case, PASS, FAIL or SKIP; a failure shows the end of its log. Logs and a table of results go to $OUT, if that is
# set, else to a temporary folder that is removed. Exit code 0 if nothing failed, 77 if nothing ran.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
fast=no budget=450 only='' mokgen='' emulate=''
usage() { sed -n '3,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --fast) fast=yes ;;
    --budget) [ $# -gt 1 ] || usage; budget=$2; shift ;;
    --only) [ $# -gt 1 ] || usage; only=$2; shift ;;
    --mokgen) [ $# -gt 1 ] || usage; mokgen=$2; shift ;;
    --emulate) [ $# -gt 1 ] || usage; emulate=$2; shift ;;
    *) usage ;;
  esac
  shift
done

work=$(mktemp -d "${TMPDIR:-/tmp}/mok-gpu-XXXXXX")
trap 'rm -rf "$work"' EXIT
logs=${OUT:-$work/out}
mkdir -p "$logs"
passed=0 failed=0 skipped=0
report() { # VERDICT NAME DETAIL
  printf '%s %-28s %s\n' "$1" "$2" "$3"
  printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$logs/results.tsv"
  case $1 in PASS) passed=$((passed + 1)) ;; FAIL) failed=$((failed + 1)) ;; *) skipped=$((skipped + 1)) ;; esac
}
finish() {
  echo "$passed passed, $failed failed, $skipped skipped, ${SECONDS} s"
  [ "$failed" = 0 ] || exit 1
  [ "$passed" -gt 0 ] || exit 77
  exit 0
}

# ---------------------------------------------------------------------------------------------------- the tool and the machine

if [ -z "$mokgen" ]; then
  for candidate in "$here/bin/mokgen" "$here/../../build/mokgen"; do [ -x "$candidate" ] && mokgen=$candidate && break; done
fi
[ -n "$mokgen" ] || { echo "run.sh: no mokgen beside this file or in build/; name it with --mokgen" >&2; exit 2; }
mokgen=$(readlink -f "$mokgen")
tool=("$mokgen") loader=()
if ! "$mokgen" --version >"$work/version" 2>&1; then
  # An older C library than the one mokgen was linked with: take the one that was packed beside it.
  loader=("$here/lib/ld-linux-x86-64.so.2" --library-path "$here/lib:${LD_LIBRARY_PATH:-}")
  tool=("${loader[@]}" "$mokgen")
  if ! "${tool[@]}" --version >"$work/version2" 2>&1; then
    cat "$work/version" "$work/version2"
    report FAIL start "mokgen does not start, with the system's C library or with the packed one"
    finish
  fi
fi
echo "mokgen: ${tool[*]} ($("${tool[@]}" --version | head -1))"
export MOKGEN_CACHE_DIR=$work/cache
[ -d "$here/cache" ] && cp -r "$here/cache" "$work/cache"
[ -n "${CUDA_PATH:-}" ] || { [ -d /usr/local/cuda ] && export CUDA_PATH=/usr/local/cuda; }

gpus=0
if [ -n "$emulate" ]; then
  emulate=$(readlink -f "$emulate")
  gpus=1
  echo "GPU: none, emulated by $emulate"
elif command -v nvidia-smi >/dev/null 2>&1; then
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
  nvidia-smi --query-gpu=index,name,driver_version,memory.total,clocks.sm,clocks.max.sm --format=csv 2>&1 | tee "$logs/gpus.csv"
else
  gpus=$(ls /dev/nvidia[0-9]* 2>/dev/null | wc -l)
  echo "GPUs: $gpus (no nvidia-smi here)"
fi
if [ "$gpus" -lt 1 ]; then
  report SKIP all "no NVIDIA GPU here"
  finish
fi

# ---------------------------------------------------------------------------------------------------- cases

lines=$("$here/cases.sh" "${tool[@]}") || exit 2
cases() { echo "$lines"; }
ranks_of() { # flags
  local n
  n=$(grep -o 'topology\.gpus=[0-9]*' <<<"$1" | tail -1)
  echo "${n##*=}" | grep . || echo 1
}
wanted() { # GROUP
  [ -n "$only" ] && { case ",$only," in *",$1,"*) return 0 ;; *) return 1 ;; esac; }
  case $1 in
    preset | time | sanitizer) [ "$fast" = no ] && [ -z "$emulate" ] ;;
    primitives) [ -z "$emulate" ] ;;
    *) return 0 ;;
  esac
}
group='' streak=0

# run_case GROUP NAME PREFIX... -- MODEL FLAGS...: one run of the tool; PREFIX is a program to run it under.
run_case() {
  local name=$1-$2 prefix=() log status start took line
  shift 2
  while [ "$1" != -- ]; do prefix+=("$1"); shift; done
  shift
  log=$logs/$name.log
  if [ $SECONDS -ge "$budget" ]; then report SKIP "$name" "out of time (--budget $budget)"; return; fi
  # A protocol that is wrong everywhere costs ten seconds a case: three in a row say enough.
  if [ $streak -ge 3 ]; then report SKIP "$name" "three cases before it in its group failed"; return; fi
  start=$(date +%s%N)
  env ${run_env[@]+"${run_env[@]}"} timeout -k 5 "${case_limit:-60}" ${prefix[@]+"${prefix[@]}"} \
    "${tool[@]}" "${tool_command:-run}" -v --target sm_90a "$@" >"$log" 2>&1 </dev/null
  status=$?
  took=$((($(date +%s%N) - start) / 1000000))
  line=$(grep -E '^(PASS|FAIL) ' "$log" | tail -1)
  if [ $status = 0 ] && [ "${line%% *}" = PASS ] && grep -qE "${must_say:-}" "$log"; then
    streak=0
    report PASS "$name" "${line#PASS } (${took} ms)"
  else
    streak=$((streak + 1))
    report FAIL "$name" "exit code $status after $took ms: mokgen ${tool_command:-run} $*"
    [ $status = 124 ] && echo "    | the case did not end within ${case_limit:-60} s"
    [ -z "${must_say:-}" ] || grep -qE "$must_say" "$log" || echo "    | the log has no line '$must_say'"
    tail -n 12 "$log" | cut -c 1-400 | sed 's/^/    | /'
    if [ -z "$emulate" ] && [ "$status" != 6 ] && command -v nvidia-smi >/dev/null && ! nvidia-smi >"$logs/$name.smi" 2>&1; then
      report FAIL machine "nvidia-smi fails after $name"
      finish
    fi
  fi
}

run_env=()
emulated() { # MODEL FLAGS: the host target's kernel for the same plan
  local flags=() package=$work/host.mok
  while [ $# -gt 0 ]; do
    case $1 in -D) flags+=(-D "$2"); shift ;; *.lua) flags+=("$1") ;; esac
    shift
  done
  rm -rf "$package"
  "${tool[@]}" build -q --target host "${flags[@]}" -o "$package" || return 1
  run_env=(LD_LIBRARY_PATH="$(dirname "$emulate")" EMULATED_KERNEL="$package/kernel.host.so")
}

# Compiles all kernels before the first run, several at once: a GPU should not wait for a compiler.
warm_up() {
  local g n m f
  cases | while IFS='|' read -r g n m f; do
    wanted "$g" || continue
    echo "$m $(grep -o -- '-D [^ ]*' <<<"$f" | tr '\n' ' ')"
  done | sort -u >"$work/kernels"
  export work here
  export -f warm_one
  tool_line=$(printf '%q ' "${tool[@]}") xargs -P "$(nproc)" -d '\n' -I{} bash -c 'warm_one "$1"' _ {} <"$work/kernels"
  echo "compiled $(wc -l <"$work/kernels") kernels, $SECONDS s"
}
warm_one() {
  local folder
  set -- $1
  local model=$1
  shift
  folder=$(mktemp -d "$work/warm-XXXXXX")
  eval "$tool_line" build -q --target sm_90a "$here/models/$model.lua" '"$@"' -o "$folder/x.mok" >"$folder/log" 2>&1 || { echo "cannot build $model $*"; tail -5 "$folder/log"; }
  rm -rf "$folder"
}

[ -n "$emulate" ] || warm_up
while IFS='|' read -r g n m f; do
  wanted "$g" || continue
  [ "$g" = "$group" ] || { group=$g streak=0; }
  ranks=$(ranks_of "$f")
  case_limit=60
  [ "$g" = preset ] || [ "$g" = time ] && case_limit=150
  # shellcheck disable=SC2086
  set -- "$here/models/$m.lua" $f
  if [ -n "$emulate" ]; then emulated "$@" || { report FAIL "$g-$n" "cannot build the host kernel"; continue; }; fi
  if [ "$ranks" -gt 1 ]; then
    run_case "$g" "$n" -- "$@" --colocate
    if [ "$gpus" -ge "$ranks" ]; then
      run_case "$g" "$n-gpus" -- "$@"
      one=$(grep -o 'digest=[0-9a-f]*' "$logs/$g-$n.log" | tail -1) two=$(grep -o 'digest=[0-9a-f]*' "$logs/$g-$n-gpus.log" | tail -1)
      if [ -n "$one" ] && [ -n "$two" ]; then
        [ "$one" = "$two" ] && report PASS "$g-$n-same-bits" "one GPU and $ranks GPUs: $one" || report FAIL "$g-$n-same-bits" "one GPU $one, $ranks GPUs $two"
      fi
    fi
  else
    run_case "$g" "$n" -- "$@"
  fi
done < <(cases)

# ---------------------------------------------------------------------------------------------------- primitives by themselves

if wanted primitives; then
  log=$logs/primitives.log program=$here/bin/gpu_primitives images=$here/primitives
  if [ ! -x "$program" ]; then # in the tree
    program=$(dirname "$mokgen")/tests/primitives/gpu_primitives images=$work/primitives
    "$here/../primitives/images.sh" "$mokgen" "$(dirname "$mokgen")/tests/compile/compile_case" sm_90a "$images" >"$log" 2>&1
  fi
  timeout -k 5 120 ${loader[@]+"${loader[@]}"} "$program" "$images"/* >>"$log" 2>&1 </dev/null
  status=$?
  while read -r verdict name detail; do report "$verdict" "primitives-${name%:}" "$detail"; done < <(grep -E '^(PASS|FAIL) ' "$log")
  if [ $status != 0 ]; then
    grep -q '^FAIL ' "$log" && [ $status = 1 ] || report FAIL primitives "exit code $status"
    grep -vE '^PASS ' "$log" | head -n 40 | cut -c 1-400 | sed 's/^/    | /'
  fi
fi

# ---------------------------------------------------------------------------------------------------- libmok as a program uses it

package() { # FOLDER MODEL FLAGS
  "${tool[@]}" build -q --target sm_90a "${@:2}" -o "$1" && { [ -z "$emulate" ] || emulated "${@:2}"; }
}

# gpu_steps on the tiny layer, with faults, all ranks on one GPU and on as many; the emulated driver does less of it.
steps=$here/bin/gpu_steps
[ -x "$steps" ] || steps=$(dirname "$mokgen")/tests/gpu/gpu_steps
for place in 1:1 2:1 2:2; do
  ranks=${place%:*} devices=${place#*:}
  wanted library && [ "$gpus" -ge "$devices" ] || continue
  name=library-steps-$ranks
  [ "$devices" = 1 ] || name=$name-gpus
  log=$logs/$name.log launches=1000
  set -- "$here/models/tiny.lua" -D topology.gpus=$ranks
  [ -n "$emulate" ] && launches=20 && set -- "$@" -D workload.tokens_per_gpu=48 -D model.hidden=64 -D model.intermediate=64
  if ! package "$work/steps-$ranks.mok" "$@" >"$log" 2>&1; then
    report FAIL "$name" "cannot build the package"
    tail -n 5 "$log" | sed 's/^/    | /'
    continue
  fi
  if env ${run_env[@]+"${run_env[@]}"} timeout -k 5 120 ${loader[@]+"${loader[@]}"} "$steps" "$work/steps-$ranks.mok" $launches \
    "$devices" >"$log" 2>&1; then
    report PASS "$name" "$(tail -1 "$log")"
    grep -E 'same bits|ended after|told:' "$log" | cut -c 1-300 | sed 's/^/    |/'
  else
    report FAIL "$name" "exit code $?"
    tail -n 20 "$log" | sed 's/^/    | /'
  fi
done

# A package built elsewhere, run and measured.
if wanted package; then
  set -- "$here/models/tiny.lua" -D model.activation=geglu -D model.clamp=0.5
  if package "$work/package.mok" "$@" >"$logs/package.log" 2>&1; then
    run_case package run -- "$work/package.mok"
    [ -n "$emulate" ] && run_env+=(MOKGEN_CUBLAS="$emulate")
    tool_command=bench run_case package bench -- "$work/package.mok" --iters 20
  else
    report FAIL package "cannot build the package"
  fi
fi

# ---------------------------------------------------------------------------------------------------- compute-sanitizer

if wanted sanitizer; then
  sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer /usr/local/cuda/compute-sanitizer/compute-sanitizer 2>/dev/null | head -1)
  streak=0 case_limit=150
  for check in racecheck memcheck synccheck; do
    if [ -z "$sanitizer" ]; then report SKIP "sanitizer-$check" "compute-sanitizer is not on this machine"; continue; fi
    # Waits must outlast a kernel that runs a hundred times slower.
    run_env=(MOK_TIMEOUT_MS=1000000)
    set -- "$sanitizer" --tool "$check" --error-exitcode 9
    must_say='ERROR SUMMARY: 0 errors'
    # Not one hazard, of any severity: each that there was has been explained and removed.
    [ $check = racecheck ] && must_say='RACECHECK SUMMARY: 0 hazards' && set -- "$@" --racecheck-detect-level info
    layer=("$here/models/tiny.lua" --check sample:4)
    run_case sanitizer "$check" "$@" -- "${layer[@]}" --tokens 70
    run_case sanitizer "$check-ranks" "$@" -- "${layer[@]}" -D topology.gpus=2 --colocate --tokens 70,9
    run_case sanitizer "$check-m128" "$@" -- "${layer[@]}" -D schedule.tile_m=128 -D model.hidden=136 --tokens 70
    run_case sanitizer "$check-epilogue" "$@" -- "${layer[@]}" -D topology.gpus=2 -D schedule.comm=epilogue --colocate --tokens 70,9
  done
  must_say=''
fi
finish
