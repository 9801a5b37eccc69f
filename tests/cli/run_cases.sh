#!/bin/bash
# Runs the cases of one file against the tool.
#   run_cases.sh MOKGEN SOURCE_FOLDER CASES_FILE
#
# A case is a group of lines, separated by blank lines:
#   case: what it shows
#   needs: SHELL        skipped, with a line, where this fails (optional)
#   run: SHELL          executed in an empty private folder; several run lines make one script
#   exit: N             expected exit code (default 0)
#   stdout: TEXT        must occur in stdout (repeatable); "stdout!: TEXT" must not
#   stderr: TEXT        the same for stderr
#   left: NAME ...      exactly these names are in the folder afterwards (optional; "-": none)
#   any: stdout|stderr  this stream may hold anything; without it, an exit of 0 must leave stderr empty
# Scripts see: mokgen, $MODELS (tests/cli/models), $SOURCE (the tree), and a kernel cache of this file's own.
set -u
mokgen=$1 SOURCE=$2 cases=$3
export SOURCE MODELS=$SOURCE/tests/cli/models
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-cli-XXXXXX")
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/home"
ln -s "$mokgen" "$work/bin/mokgen"
export PATH="$work/bin:$PATH" MOKGEN_CACHE_DIR=$work/cache HOME=$work/home LC_ALL=C
unset MOKGEN_CXX MOKGEN_NVRTC NO_COLOR XDG_CACHE_HOME CUDA_PATH
passed=0 failed=0 skipped=0

reset() { name='' needs='' script='' code=0 left='' any='' expect=(); }

problem() {
  if [ "$ok" = yes ]; then echo "FAIL: $name"; ok=no; fi
  echo "  $1"
}

finish() {
  [ -n "$name" ] || return 0
  local folder=$work/here ok=yes status line stream text
  rm -rf "$folder"; mkdir "$folder"
  if [ -n "$needs" ] && ! (cd "$folder" && bash -c "$needs") >/dev/null 2>&1; then
    echo "skipped: $name (needs: $needs)"; skipped=$((skipped + 1)); reset; return 0
  fi
  rm -rf "$folder"; mkdir "$folder"
  (cd "$folder" && timeout 300 bash -c "$script") >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
  [ "$status" = "$code" ] || problem "exit code $status, expected $code"
  for line in "${expect[@]+"${expect[@]}"}"; do
    stream=${line%%:*} text=${line#*: }
    case $stream in
    *!) ! grep -qF -e "$text" "$work/${stream%!}" || problem "${stream%!} contains '$text'" ;;
    *) grep -qF -e "$text" "$work/$stream" || problem "$stream lacks '$text'" ;;
    esac
  done
  if [ "$code" = 0 ] && [ "$any" != stderr ] && [ -s "$work/stderr" ] && ! printf '%s\n' "${expect[@]+"${expect[@]}"}" | grep -q '^stderr:'; then
    problem "unexpected talk on stderr"
  fi
  if [ -n "$left" ]; then
    text=$(cd "$folder" && ls -A | LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//')
    [ "${text:--}" = "$left" ] || problem "the folder holds '${text:--}', expected '$left'"
  fi
  if [ "$ok" = yes ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "  script: $script"
    sed 's/^/  stdout| /' "$work/stdout" | head -20
    sed 's/^/  stderr| /' "$work/stderr" | head -20
  fi
  reset
}

reset
while IFS= read -r line || [ -n "$line" ]; do
  case $line in
  '') finish ;;
  '#'*) ;;
  'case: '*) name=${line#case: } ;;
  'needs: '*) needs=${line#needs: } ;;
  'run: '*) script=$script${script:+$'\n'}${line#run: } ;;
  'exit: '*) code=${line#exit: } ;;
  'left: '*) left=${line#left: } ;;
  'any: '*) any=${line#any: } ;;
  'stdout: '* | 'stdout!: '* | 'stderr: '* | 'stderr!: '*) expect+=("$line") ;;
  *) echo "$cases: not a line of a case: $line"; exit 2 ;;
  esac
done <"$cases"
finish
echo "$passed passed, $failed failed, $skipped skipped in $(basename "$cases")"
[ $((passed + failed + skipped)) -gt 0 ] && [ "$failed" = 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 77
