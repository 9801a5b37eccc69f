#!/usr/bin/env bash
# dsl/mokgen.meta.lua is what the tool prints now, is Lua, and has each field of the list with its type.
# Arguments: MOKGEN SOURCE ANNOTATIONS, or MOKGEN SOURCE --update
set -eu
export LC_ALL=C
mokgen=$1 source=$2 program=$3
meta=$source/dsl/mokgen.meta.lua
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-annotations-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
"$mokgen" reference lua >now
if [ "$program" = --update ]; then
  cmp -s now "$meta" || { cp now "$meta" && echo "updated $meta"; }
  exit 0
fi
failed=0
diff "$meta" now || { echo "dsl/mokgen.meta.lua lags behind the lists; if that is meant: cmake --build BUILD -t update-annotations"; failed=1; }

fields=$source/compiler/model/model_fields.def
tables=$(sed -n 's/^MOK_FIELD(\([a-z]*\),.*/\1/p' "$fields" | uniq)
# shellcheck disable=SC2086
"$program" "$meta" $tables preset || failed=1

# Types of the server's grammar, and nothing that it would read as something else.
type='[a-z.]+(_[a-z]+)?'
type="($type|\"[^\"]+\"|\((\"[a-z]+\"\|?)+\)\[\])"
bad=$(grep -vE "^$|^---@meta |^-- |^---[A-Z]|^---@class \(exact\) mokgen\.[a-z_]+$|^---@alias |^---\| \"[A-Za-z0-9]+\"$|^---@field [a-z_]+\?? $type(\|$type)*( [^|]*)?$|^---@param fields mokgen\.[a-z]+$|^---@return |^function [a-z]+\(fields\) end$" "$meta") || true
[ -z "$bad" ] || { echo "not an annotation:"; echo "$bad"; failed=1; }

count=0
while read -r table name; do
  count=$((count + 1))
  line=$(sed -n "/^---@class (exact) mokgen\.$table$/,/^$/s/^---@field $name?\{0,1\} //p" "$meta")
  [ -n "$line" ] || { echo "$table.$name is not annotated"; failed=1; }
  # What the list requires is required, and nothing else.
  required=no
  grep -qE "^MOK_FIELD\($table, [A-Z_]+, $name, \"\"," "$fields" && required=yes
  optional=$(sed -n "/^---@class (exact) mokgen\.$table$/,/^$/p" "$meta" | grep -c "^---@field $name? " || true)
  [ "$required$optional" = yes0 ] || [ "$required$optional" = no1 ] || { echo "$table.$name: required=$required, but optional=$optional"; failed=1; }
done < <(sed -n 's/^MOK_FIELD(\([a-z]*\), [A-Z_]*, \([a-z_]*\),.*/\1 \2/p' "$fields")
while read -r word; do
  grep -q "^---@field activation? .*\"$word\"" "$meta" || { echo "activation \"$word\" is not annotated"; failed=1; }
done < <(sed -n 's/^MOK_ACTIVATION(\([a-z0-9_]*\),.*/\1/p' "$source/compiler/model/activations.def")
[ "$count" -gt 20 ] || { echo "only $count fields: is the list written in another way?"; failed=1; }
[ $failed = 0 ] || exit 1
echo "$count fields"
