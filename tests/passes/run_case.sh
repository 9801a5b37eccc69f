#!/bin/bash
# run_case.sh MOK_OPT FILE: runs the `// RUN:` lines of FILE, each a bash pipeline in which every command must succeed.
# In them: mok-opt, FileCheck, `expect CODE command..` (an exit code), %s (FILE).
set -u
export MOK_OPT=$1 file=$2
for candidate in FileCheck-22 FileCheck /usr/lib/llvm-22/bin/FileCheck; do
  if command -v "$candidate" > /dev/null; then export FILECHECK=$candidate; break; fi
done
if [ -z "${FILECHECK:-}" ]; then
  echo "skipped: FileCheck not found (package llvm-22-tools or mlir-22-tools)"
  exit 77
fi
mok-opt() { "$MOK_OPT" "$@"; }
FileCheck() { "$FILECHECK" --dump-input=fail "$@"; }
expect() {
  local want=$1
  shift
  "$@"
  local got=$?
  [ "$got" -eq "$want" ] || { echo "expected exit code $want, got $got: $*" >&2; return 1; }
}
set -o pipefail
runs=0
while IFS= read -r line; do
  runs=$((runs + 1))
  eval "${line//%s/\$file}" || { echo "failed: $line"; exit 1; }
done < <(sed -n 's|^// RUN: ||p' "$file")
[ "$runs" -gt 0 ] || { echo "$file has no RUN line"; exit 1; }
