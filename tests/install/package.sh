#!/usr/bin/env bash
# The installed tree is complete, names no folder of this machine, and serves users in C and C++ through pkg-config and CMake.
# Arguments: BUILD SOURCE CMAKE CC CXX
. "$(dirname "${BASH_SOURCE[0]}")/tree.sh"
here=$source/tests/install

# Every file; libmok's version is checked apart.
version=$(sed -n 's/^project(mokgen VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
expected=$(
  printf '%s\n' bin/mokgen include/mok.h share/man/man1/mokgen.1 share/bash-completion/completions/mokgen \
    share/zsh/site-functions/_mokgen share/mokgen/dsl/mokgen.meta.lua share/doc/mokgen/README.md share/doc/mokgen/LICENSE \
    "${lib#./}"/{libmok.a,libmok.so,"libmok.so.${version%.*}","libmok.so.$version",pkgconfig/mok.pc} \
    "${lib#./}"/cmake/mok/{mokConfig,mokConfigVersion,mokTargets}.cmake
  cd "$source"
  printf 'share/mokgen/%s\n' dsl/presets/*.lua
  (cd runtime && printf 'share/mokgen/%s\n' python/mok/*.py)
  printf 'share/doc/mokgen/%s\n' examples/*.lua examples/*.c
)
found=$(cd "$prefix" && find . ! -type d ! -name 'mokTargets-*.cmake' | sed 's|^\./||')
diff <(sort <<<"$expected") <(sort <<<"$found") || fail "the installed files differ from those expected (<)"
[ "$(readlink "$prefix/$lib/libmok.so")" = "libmok.so.${version%.*}" ] || fail "libmok.so is no link to libmok.so.${version%.*}"
readelf -d "$prefix/$lib/libmok.so" | grep -q "SONAME.*\[libmok.so.${version%.*}\]" || fail "the SONAME is not libmok.so.${version%.*}"
for binary in bin/mokgen "$lib/libmok.so"; do
  ! readelf -d "$prefix/$binary" | grep -E 'RPATH|RUNPATH' || fail "$binary has a path of this machine"
done
! grep -rlF -e "$source" -e "$build" -e "$work" -e '/opt/a prefix' "$prefix" || fail "the files above name a folder of this machine"

# The header by itself, in every compiler that is here.
for compiler in "$cc" gcc clang; do
  command -v "$compiler" >/dev/null || continue
  "$compiler" -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c "$prefix/include/mok.h" || fail "mok.h is not clean: $compiler"
done
for compiler in "$cxx" g++ clang++; do
  command -v "$compiler" >/dev/null || continue
  "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -x c++ "$prefix/include/mok.h" || fail "mok.h is not clean: $compiler"
done

# pkg-config: shared, and the archive by its name.
cd "$work"
flags=$(pkg-config --cflags mok) libs=$(pkg-config --libs mok)
[ "$(pkg-config --modversion mok)" = "$version" ] || fail "mok.pc is not of $version"
eval "\"$cc\" -std=c17 -Wall -Wextra -Wpedantic -Werror $flags \"$here/consumer.c\" $libs -o pc_shared"
eval "\"$cxx\" -std=c++17 -Wall -Wextra -Wpedantic -Werror $flags -x c++ \"$here/consumer.c\" -x none $libs -o pc_cxx"
eval "archive=$(pkg-config --variable=libdir mok)/libmok.a"
eval "\"$cc\" $flags \"$here/consumer.c\" \"$archive\" $(pkg-config --static --libs-only-l mok | sed 's/-lmok//') -o pc_static"
readelf -d pc_shared | grep -q 'NEEDED.*libmok.so' || fail "pkg-config does not give the shared library"
! readelf -d pc_static | grep 'NEEDED.*libmok.so' || fail "the archive is not used"

# CMake, in a project of its own.
mkdir project
cp "$here/consumer.c" project/
cp "$here/consumer.c" project/consumer.cpp
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(consumer C CXX)
find_package(mok ${version%.*} REQUIRED)
foreach(language c cpp)
  add_executable(shared_\${language} consumer.\${language})
  target_link_libraries(shared_\${language} PRIVATE mok::mok)
  add_executable(static_\${language} consumer.\${language})
  target_link_libraries(static_\${language} PRIVATE mok::mok_static)
endforeach()
END
CC=$cc CXX=$cxx "$cmake" -S project -B built "-DCMAKE_PREFIX_PATH=$prefix" >log 2>&1 && "$cmake" --build built >>log 2>&1 || { cat log; exit 1; }
# 0.x: another minor version is another interface.
minor=${version#*.} minor=${minor%%.*}
sed "s/find_package(mok [0-9.]*/find_package(mok ${version%%.*}.$((minor + 1))/" project/CMakeLists.txt >later
mv later project/CMakeLists.txt
! CC=$cc CXX=$cxx "$cmake" -S project -B later "-DCMAKE_PREFIX_PATH=$prefix" >log 2>&1 || fail "$version is taken for a later version"
grep -q 'requested version' log || { cat log; fail "CMake does not say why"; }
for program in ./pc_shared ./pc_cxx ./pc_static built/shared_c built/shared_cpp built/static_c built/static_cpp; do
  "$program" >log 2>&1 || { cat log; fail "$program: exit code $?"; }
done
(unset LD_LIBRARY_PATH; ./pc_static >/dev/null && built/static_c >/dev/null && built/shared_c >/dev/null) ||
  fail "a program needs LD_LIBRARY_PATH that should not"

# What the README says for distributors: without tests, all of this is still built.
"$cmake" -S "$source" -B plain -G Ninja -DMOK_BUILD_TESTS=OFF >log 2>&1 || { cat log; exit 1; }
! "$cmake" --build plain --target help 2>&1 | grep -E '^test_|mok_test_support' || fail "MOK_BUILD_TESTS=OFF builds tests"
"$cmake" --build plain --target help | grep -q 'mok_texts' || fail "MOK_BUILD_TESTS=OFF builds no man page"

# The tool, away from its sources: presets, templates and the reference are in it.
[ "$(command -v mokgen)" = "$prefix/bin/mokgen" ] || fail "another mokgen is run"
[ "$(mokgen --version)" = "mokgen $version" ] || fail "mokgen --version: $(mokgen --version)"
mokgen explain "$prefix/share/doc/mokgen/examples/kimi-k2-2xh200.lua" >page 2>&1 || { cat page; exit 1; }
mokgen run -q --target host "$prefix/share/doc/mokgen/examples/small.lua" >line 2>&1 || { cat line; exit 1; }
grep -q '^PASS ' line || fail "mokgen run: $(cat line)"
echo "$(wc -l <<<"$expected") files; 7 programs; $(cat line)"
