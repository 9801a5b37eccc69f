#!/usr/bin/env bash
# The set-up script with stand-ins for dpkg-query, apt-get and id: what it installs, when, and what it says when it may not.
# Argument: source tree.
set -u
source_tree=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-setup-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
failures=0

cat >"$work/bin/dpkg-query" <<'END'
#!/bin/sh
for package; do :; done
case " $INSTALLED " in *" $package "*) printf installed ;; *) exit 1 ;; esac
END
printf '#!/bin/sh\necho "$USER_ID"\n' >"$work/bin/id"
printf '#!/bin/sh\necho "apt-get $*" >>"%s"\nexit "$APT"\n' "$work/calls" >"$work/bin/apt-get"
chmod +x "$work/bin"/*

# expect CODE INSTALLED USER_ID APT "part of what is said" "part of the calls of apt-get" ("" : none)
expect() {
  local status said calls
  : >"$work/calls"
  said=$(INSTALLED=$2 USER_ID=$3 APT=$4 PATH=$work/bin:$PATH \
    bash -c '. "$1/cmake/setup.sh"; mok_need_packages gcc check' - "$source_tree" 2>&1)
  status=$?
  calls=$(cat "$work/calls")
  if [ "$status" != "$1" ] || [[ $said != *"$5"* ]] || [[ $calls != *"$6"* ]] || { [ -z "$6" ] && [ -n "$calls" ]; }; then
    printf 'installed "%s", user %s, apt %s: exit code %s, expected %s\n' "$2" "$3" "$4" "$status" "$1"
    printf 'said: %s\ncalls: %s\n' "$said" "$calls"
    failures=$((failures + 1))
  fi
}

expect 0 "gcc check" 1000 0 "" ""
expect 0 "gcc check" 0 0 "" ""
expect 2 "gcc" 1000 0 "apt-get update && apt-get install -y --no-install-recommends check" ""
expect 0 "gcc" 0 0 "installing: check" "install -y --no-install-recommends check"
expect 0 "" 0 0 "installing: gcc check" "install -y --no-install-recommends gcc check"
expect 2 "" 0 100 "could not install" "update"

# NVRTC is looked for before it is fetched.
mkdir "$work/cuda" "$work/cuda/lib64"
touch "$work/cuda/lib64/libnvrtc.so.13"
for setting in MOKGEN_NVRTC=/anything CUDA_PATH="$work/cuda" LD_LIBRARY_PATH="/none:$work/cuda/lib64"; do
  if ! env -u MOKGEN_NVRTC -u CUDA_PATH -u LD_LIBRARY_PATH "$setting" \
    bash -c '. "$1/cmake/setup.sh"; mok_has_nvrtc' - "$source_tree"; then
    echo "NVRTC is not found through $setting"
    failures=$((failures + 1))
  fi
done

[ "$failures" -eq 0 ]
