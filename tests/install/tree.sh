# Installs into "$prefix", a folder with spaces in its path that is not the one installed to; to be sourced.
#   arguments: BUILD SOURCE CMAKE CC CXX
set -eu
build=$1 source=$2 cmake=$3 cc=$4 cxx=$5
export LC_ALL=C
work=$(mktemp -d "${TMPDIR:-/tmp}/mok install-XXXXXX")
trap 'rm -rf "$work"' EXIT
fail() { echo "$*"; exit 1; }
DESTDIR="$work/stage" "$cmake" --install "$build" --prefix "/opt/a prefix" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
prefix="$work/moved here"
mv "$work/stage/opt/a prefix" "$prefix"
[ -z "$(find "$work/stage" -type f)" ] || fail "files outside the prefix: $(find "$work/stage" -type f)"
lib=$(dirname "$(cd "$prefix" && find . -name pkgconfig)")
export PKG_CONFIG_PATH="$prefix/$lib/pkgconfig" LD_LIBRARY_PATH="$prefix/$lib" PATH="$prefix/bin:$PATH" MOKGEN_CACHE_DIR=$work/cache
