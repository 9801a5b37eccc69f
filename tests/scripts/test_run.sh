#!/usr/bin/env bash
# What tests/run.sh makes of passed, failed, missing, skipped and disabled tests. Arguments: source tree, cmake.
set -u
source_tree=$1 cmake=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-run-XXXXXX")
trap 'rm -rf "$work"' EXIT
unset CI
failures=0

cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(sample NONE)
enable_testing()
foreach(name ok ok2 soaked)
  add_test(NAME ${name} COMMAND sh -c "exit 0")
endforeach()
add_test(NAME bad COMMAND sh -c "exit 1")
add_test(NAME missing COMMAND /nonexistent/tool)
add_test(NAME skipped COMMAND sh -c "exit 77")
add_test(NAME compile_skipped COMMAND sh -c "exit 77")
add_test(NAME disabled COMMAND sh -c "exit 0")
set_tests_properties(soaked PROPERTIES LABELS soak)
set_tests_properties(skipped compile_skipped PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(compile_skipped PROPERTIES LABELS compile)
set_tests_properties(disabled PROPERTIES DISABLED TRUE)
END
"$cmake" -S "$work" -B "$work/build" -G Ninja >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

# expect CODE "LAST LINE" [VARIABLE=VALUE] -- arguments of run.sh
expect() {
  local code=$1 line=$2 settings=() status said
  shift 2
  while [ "$1" != -- ]; do settings+=("$1"); shift; done
  shift
  said=$(env MOKGEN_BUILD="$work/build" MOKGEN_NVRTC=none ${settings[@]+"${settings[@]}"} "$source_tree/tests/run.sh" "$@" 2>&1)
  status=$?
  if [ "$status" != "$code" ] || [ "$(printf '%s\n' "$said" | tail -n 1)" != "$line" ]; then
    printf 'run.sh %s: exit code %s, expected %s and the last line "%s":\n%s\n' "$*" "$status" "$code" "$line" "$said"
    failures=$((failures + 1))
  fi
}

absent="build it, or copy the build folder of another machine here (or name it in MOKGEN_BUILD)"
expect 2 "$work/build/mokgen is not there: $absent" -- --no-build
printf '#!/bin/sh\n' >"$work/build/mokgen"
chmod +x "$work/build/mokgen"

expect 1 "2 passed, 2 failed, 3 skipped" -- --no-build
expect 1 "2 passed, 3 failed, 2 skipped" CI=true -- --no-build
expect 0 "2 passed, 0 failed, 0 skipped" -- --no-build -R '^ok'
expect 0 "1 passed, 0 failed, 1 skipped" -- --no-build -R '^(ok|skipped)$'
expect 0 "1 passed, 0 failed, 1 skipped" CI=true -- --no-build -R '^(ok|skipped)$'
expect 1 "1 passed, 1 failed, 0 skipped" CI=true -- --no-build -R '^(ok|compile_skipped)$'
expect 1 "0 passed, 0 failed, 1 skipped" -- --no-build -R '^skipped$'
expect 1 "0 passed, 1 failed, 0 skipped" -- --no-build -R nothing_matches
expect 0 "1 passed, 0 failed, 0 skipped" -- --no-build -L soak

[ "$failures" -eq 0 ]
