#!/usr/bin/env bash
# Builds and runs the tests. Usage: tests/run.sh [--no-build] [ctest arguments]
#
# Without a selection of its own (-L, -LE, -R, -E, -I, ...) it runs everything that needs no GPU, but not the soak. The last line
# is "N passed, N failed, N skipped". Exit code 0 only if some test passed and none failed. With CI=true a skipped test of label
# `compile` counts as failed: there NVRTC is to be had.
set -euo pipefail
export LC_ALL=C
. "$(dirname "${BASH_SOURCE[0]}")/../cmake/setup.sh"

build_option=
arguments=()
selected=false
jobs=(-j "$(nproc 2>/dev/null || echo 2)")
for argument in "$@"; do
  case $argument in
    --no-build) build_option=--no-build; continue ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"; exit 0 ;;
    -j* | --parallel*) jobs=() ;;
    -L* | -R* | -E* | -I* | -F* | --label-* | --tests-* | --exclude-* | --rerun-failed) selected=true ;;
  esac
  arguments+=("$argument")
done
$selected || arguments+=(-LE '^(soak|gpu|multigpu|bench)$')

mok_setup $build_option

report=$mok_build/junit.xml
rm -f "$report"
status=0
ctest --test-dir "$mok_build" --no-tests=error --output-on-failure --output-junit "$report" ${jobs[@]+"${jobs[@]}"} \
  "${arguments[@]}" </dev/null || status=$?

# Names of the tests of one status; those that could not be started are "notrun" as the skipped ones are, but without a reason.
list() {
  python3 - "$report" "$1" <<'END'
import sys, xml.etree.ElementTree as tree
for case in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    state = case.get("status")
    if state == "notrun":
        reason = case.find("skipped")
        message = "" if reason is None else reason.get("message", "")
        state = "skip" if "SKIP" in message else "fail"
    elif state == "disabled":
        state = "skip"
    if {"run": "pass"}.get(state, state) == sys.argv[2]:
        print(case.get("name"))
END
}

count() { if [ -n "$1" ]; then printf '%s\n' "$1" | wc -l; else echo 0; fi; }

passed= failed= skipped=
if [ -s "$report" ]; then
  passed=$(list pass) failed=$(list fail) skipped=$(list skip)
fi
num_passed=$(count "$passed") num_failed=$(count "$failed") num_skipped=$(count "$skipped")

if [ -n "$skipped" ]; then
  echo
  printf '%s\n' "$skipped" | sed 's/^/skipped: /'
  if [ "${CI:-}" = true ]; then
    # In CI everything that a compiler needs is there, so a skip is a hole in the set-up.
    must=$(ctest --test-dir "$mok_build" -N -L '^compile$' | sed -n 's/^ *Test *#[0-9]*: //p')
    holes=$(printf '%s\n' "$skipped" | grep -Fx -f <(printf '%s\n' "$must") | grep -c . || true)
    if [ "$holes" -gt 0 ]; then
      echo "tests of label compile must not be skipped in CI"
      num_failed=$((num_failed + holes))
      num_skipped=$((num_skipped - holes))
    fi
  fi
fi
# CTest may fail without a failed test: none selected, a bad option.
if [ "$status" -ne 0 ] && [ "$num_failed" -eq 0 ]; then num_failed=1; fi

echo
echo "$num_passed passed, $num_failed failed, $num_skipped skipped"
[ "$num_failed" -eq 0 ] && [ "$num_passed" -gt 0 ]
