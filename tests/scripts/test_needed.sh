#!/usr/bin/env bash
# mokgen starts where only glibc is: no other shared library is needed, and no driver, NVRTC or LLVM is opened at the start.
# Argument: mokgen.
set -u
mokgen=$1
needed=$(LC_ALL=C objdump -p "$mokgen" | awk '$1 == "NEEDED" {print $2}')
[ -n "$needed" ] || { echo "no NEEDED entry: not a dynamic executable?"; exit 1; }
others=$(printf '%s\n' "$needed" | grep -v -x -E 'lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux[-a-z0-9_]*\.so\.[0-9]+')
if [ -n "$others" ]; then
  echo "needs more than glibc:" $others
  exit 1
fi
# What is mapped while --version runs, by the loader's own account.
loaded=$(LC_ALL=C LD_DEBUG=files "$mokgen" --version 2>&1 >/dev/null | sed -n 's/.*calling init: //p')
case $loaded in
  *libcuda* | *nvrtc* | *LLVM* | *MLIR*) printf 'opened at the start:\n%s\n' "$loaded"; exit 1 ;;
  *libc.so*) ;;
  *) echo "the loader said nothing"; exit 1 ;;
esac
