# Set-up shared by examples/demo.sh and tests/run.sh; to be sourced. Everything is safe to repeat and takes no time when done.
#
#   mok_setup [--no-build]   packages, NVRTC, build; --no-build takes the build folder as it is (a machine without MLIR)
#
# Reads MOKGEN_BUILD (build folder, default build/ of this tree). Sets mok_root, mok_build and mokgen (the tool's path), and
# exports MOKGEN_NVRTC if it had to fetch a copy. Ends the script with 2 when something is missing that it may not install.

mok_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
mok_build=${MOKGEN_BUILD:-$mok_root/build}
mokgen=$mok_build/mokgen

mok_say() { printf '%s\n' "$*" >&2; }

mok_packages=(
  gcc g++ cmake ninja-build pkg-config
  libmlir-22-dev mlir-22-tools llvm-22-dev libzstd-dev zlib1g-dev # MLIR: bookworm-security
  liblua5.4-dev check libsubunit-dev
  python3 # tests
)

# Installs the Debian packages named that are not there yet.
mok_need_packages() {
  command -v dpkg-query >/dev/null || return 0 # not Debian: CMake says what it misses
  local package missing=()
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local line="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    mok_say "missing packages; as root, run:" "
  apt-get update && $line"
    exit 2
  fi
  mok_say "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  local log
  log=$(mktemp)
  # shellcheck disable=SC2086
  if ! { apt-get -o DPkg::Lock::Timeout=300 update && apt-get -o DPkg::Lock::Timeout=300 ${line#apt-get }; } \
    </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    mok_say "could not install the packages above (MLIR 22 comes from bookworm-security); the line was:
  apt-get update && $line"
    exit 2
  fi
  rm -f "$log"
}

# True if mokgen will find an NVRTC 13 by itself.
mok_has_nvrtc() {
  [ -z "${MOKGEN_NVRTC:-}" ] || return 0
  local folder name=libnvrtc.so.13 IFS=:
  for folder in ${LD_LIBRARY_PATH:-} "${CUDA_PATH:+$CUDA_PATH/lib64}" "${CUDA_PATH:+$CUDA_PATH/lib}" /usr/local/cuda/lib64 \
    /usr/local/cuda-*/lib64 /opt/cuda/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
    [ -z "$folder" ] || [ ! -e "$folder/$name" ] || return 0
  done
  PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | grep -q "^[[:space:]]*$name " && return 0
  return 1
}

# Fetches NVRTC (no Debian package has it) from the wheel of its maker into the build folder. Without it all but cubins works, so
# a failure is a note; what needs it says so.
mok_fetch_nvrtc() {
  local place=$mok_build/nvrtc work
  if [ ! -e "$place/libnvrtc.so.13" ]; then
    python3 -m pip --version >/dev/null 2>&1 || mok_need_packages python3-pip
    mok_say "fetching NVRTC 13.0 (90 MB)"
    mkdir -p "$mok_build"
    work=$(mktemp -d "$mok_build/nvrtc.XXXXXX")
    cat >"$work/requirements.txt" <<'END'
nvidia-cuda-nvrtc==13.0.88 \
  --hash=sha256:ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575 \
  --hash=sha256:d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b
END
    if python3 -m pip download --quiet --no-input --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
      --dest "$work/wheel" --requirement "$work/requirements.txt" </dev/null >&2 &&
      python3 -m zipfile -e "$work"/wheel/*.whl "$work/files" && mkdir "$work/nvrtc" &&
      mv "$work"/files/nvidia/cu13/lib/libnvrtc.so.13 "$work"/files/nvidia/cu13/lib/libnvrtc-builtins.so.13.* "$work/nvrtc/"; then
      rm -rf "$place"
      mv "$work/nvrtc" "$place"
    fi
    rm -rf "$work"
    if [ ! -e "$place/libnvrtc.so.13" ]; then
      mok_say "note: NVRTC could not be fetched; cubins cannot be made here"
      return 0
    fi
  fi
  export MOKGEN_NVRTC=$place/libnvrtc.so.13
}

mok_setup() {
  if [ "${1:-}" != --no-build ]; then
    mok_need_packages "${mok_packages[@]}"
    if [ ! -e "$mok_build/build.ninja" ]; then
      mok_say "configuring $mok_build"
      cmake -S "$mok_root" -B "$mok_build" -G Ninja >&2 || exit 2
    fi
    cmake --build "$mok_build" >&2 || exit 1
  elif [ ! -x "$mokgen" ]; then
    mok_say "$mokgen is not there: build it, or copy the build folder of another machine here (or name it in MOKGEN_BUILD)"
    exit 2
  fi
  mok_has_nvrtc || mok_fetch_nvrtc
}
