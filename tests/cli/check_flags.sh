#!/bin/bash
# Each row of options.def against the tool: a flag is in the help of exactly the commands it applies to, and the others refuse it.
set -u
def=$SOURCE/compiler/driver/options.def
commands='build explain run check cache targets presets'
count=0
for c in $commands; do mokgen $c --help >"help.$c"; done
while read -r flag; do
  count=$((count + 1))
  grep -hqE -- "--$flag( |=|\$)" help.* || echo "--$flag is in no help"
  value=''
  grep -hqE -- "--$flag=" help.* && value==1
  for c in $commands; do
    grep -qE -- "--$flag( |=|\$)" "help.$c" && continue
    mokgen $c "--$flag$value" operand >out 2>err
    [ $? = 2 ] && grep -qF -- "flag '--$flag' does not apply to command '$c'" err || echo "$c takes --$flag: $(cat err)"
  done
done < <(grep -oE '^MOK_OPTION\([a-z_]+, "[a-z-]+"' "$def" | sed 's/.*"\(.*\)"/\1/')
[ "$count" -gt 10 ] && echo "$count flags"
