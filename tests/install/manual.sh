#!/usr/bin/env bash
# The man page: clean for man and mandoc where they are, and every command, flag, field, variable and exit code of the lists is in it.
# Arguments: MOKGEN SOURCE
set -eu
export LC_ALL=C
mokgen=$1 source=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-manual-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
fail() { echo "$*"; exit 1; }
"$mokgen" reference man >mokgen.1
code=0
"$mokgen" reference nonsense >out 2>&1 || code=$?
[ $code = 2 ] && grep -q "no text 'nonsense'; one of man, bash, zsh, lua" out || fail "reference nonsense: exit code $code, $(cat out)"
[ -s mokgen.1 ] || fail "no man page"
! grep -n '[^ -~]' mokgen.1 || fail "bytes that are not plain ASCII"
checked=
if command -v groff >/dev/null; then
  groff -man -ww -Tascii -z mokgen.1 2>warnings
  [ ! -s warnings ] || { cat warnings; fail "groff warns"; }
  checked=groff
fi
if command -v man >/dev/null && man --warnings -l mokgen.1 >page 2>warnings; then
  [ ! -s warnings ] || { cat warnings; fail "man warns"; }
  checked="$checked man"
fi
if command -v mandoc >/dev/null; then
  mandoc -T lint -W warning mokgen.1 2>&1 | grep -v 'missing date' >warnings || true # a date would differ from build to build
  [ ! -s warnings ] || { cat warnings; fail "mandoc warns"; }
  checked="$checked mandoc"
fi
# Names as the lists have them; "-" is "\-" in a man page.
names() { grep -oE "^$1\([A-Za-z0-9_]+, (\"[^\"]*\"|[A-Z_0-9]+, [a-z_0-9]+)" "$2" | sed "s/.*[ \"]\([A-Za-z0-9_-]*\)\"*$/\1/"; }
count=0
need() { count=$((count + 1)); grep -qF -e "$1" plain || fail "the man page lacks '$1'"; }
sed 's/\\-/-/g; s/\\f[BIR]//g' mokgen.1 >plain
options=$source/compiler/driver/options.def
while read -r name; do need "--$name"; done < <(names MOK_OPTION "$options")
while read -r name; do [ "$name" = reference ] || need "$name"; done < <(names MOK_COMMAND "$options")
while read -r name; do need "$name"; done < <(sed -n 's/^MOK_VARIABLE("\([A-Z_]*\)".*/\1/p' "$options")
while read -r name; do need "$name"; done < <(sed -n 's/^MOK_FIELD([a-z]*, [A-Z_]*, \([a-z_]*\),.*/\1/p' "$source/compiler/model/model_fields.def")
while read -r name; do need "\"$name\""; done < <(sed -n 's/^MOK_ACTIVATION(\([a-z0-9_]*\),.*/\1/p' "$source/compiler/model/activations.def")
while read -r name; do need "$name"; done < <(cd "$source/dsl/presets" && ls | sed 's/\.lua$//')
! grep -q '^reference$' plain || fail "the hidden command is in the man page"
[ "$count" -gt 60 ] || fail "only $count names were compared: is a list written in another way?"
echo "$count names; linted by:${checked:- nothing that is here}"
