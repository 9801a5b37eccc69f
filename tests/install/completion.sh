#!/usr/bin/env bash
# Completion: the scripts parse, and answer as a shell asks them. Argument: MOKGEN
set -eu
export LC_ALL=C
mokgen=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/mok-completion-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
"$mokgen" reference bash >mokgen.bash
"$mokgen" reference zsh >_mokgen
mkdir files
cd files
touch 'a model.lua' other.lua notes.txt
mkdir p.mok
failed=0 count=0

# ---------------------------------------------------------------------------------------------------- bash
bash -n ../mokgen.bash
# ask EXPECTED REST WORD...: the answers to TAB behind the last word. REST is what readline would replace: the last word behind
# its last '=' or ':', which are words of their own for bash.
ask() {
  local expected=$1 rest=$2 got
  shift 2
  got=$(bash -uc '
    compopt() { :; } # there is no completion under way
    . ../mokgen.bash
    rest=$1
    shift
    COMP_WORDS=(mokgen "$@") COMP_CWORD=$#
    _mokgen mokgen "$rest" "${COMP_WORDS[COMP_CWORD - 1]}"
    [ ${#COMPREPLY[@]} = 0 ] || printf "%s\n" "${COMPREPLY[@]}" | sort | paste -sd "|"' _ "$rest" "$@")
  count=$((count + 1))
  [ "$got" = "$expected" ] || { echo "mokgen $*<TAB>: '$got', expected '$expected'"; failed=1; }
}
commands=$("$mokgen" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
ask "$(printf '%s\n' $commands 'a model.lua' other.lua p.mok | sort | paste -sd '|')" '' ''
ask explain ex ex
ask other.lua ot explain ot
ask 'a model.lua' a explain a
ask p.mok p run p
ask 'clear|list' '' cache ''
ask '' '' targets ''
ask '' '' explain other.lua ''
ask --emit= --em build --em
ask --emit= --em --em
ask '' --em explain --em
ask '--no-cache|--no-check' --no build --no
ask 'cubin|cuda' cu --emit = cu
ask 'cubin|cuda' cu build --emit cu
ask fuse-epilogues fu --emit = mok : fu
ask 'always|auto|never' '' run --color =
ask 'geglu|relu2|swiglu' '' run -D model.activation =
ask 'model.activation=geglu|model.activation=relu2|model.activation=swiglu' model.act run -D model.act
ask sm_90a sm_9 run other.lua --target = sm_9
ask zipf: z run --routing = z
ask 'H20|H200' H2 --define = topology.gpu = H2
ask p.mok '' run --dump ''
ask 'a model.lua|notes.txt|other.lua|p.mok' '' -o ''

# Every flag of each command's help, and no other.
for command in $commands; do
  flags=$("$mokgen" $command --help | sed -n '/^flags:/,/^$/s/^  \(-., \|    \)\(--[a-z-]*=\{0,1\}\).*/\2/p' | sort | paste -sd '|')
  ask "$flags" -- $command --
done
# Every value that is offered is one that the tool takes: those that it refuses are exit code 2. Routing and check are read with the
# description, so they are looked up in the help.
offered() { bash -uc '. ../mokgen.bash; _mokgen_value "$1"; echo "$list"' _ "$1"; }
for flag in --emit --color --from; do
  for v in $(offered $flag) nonsense; do
    "$mokgen" build $flag=$v absent.lua >../out 2>&1 && code=0 || code=$?
    right=8 # the file is not there
    [ $v != nonsense ] || right=2
    [ $code = $right ] || { echo "mokgen build $flag=$v: exit code $code, $(cat ../out)"; failed=1; }
  done
done
"$mokgen" run --help >../help
for v in $(offered --routing) $(offered --check); do
  grep -qF -e "$v" ../help || { echo "'$v' is offered, but not in the help of run"; failed=1; }
done

# ---------------------------------------------------------------------------------------------------- zsh
if command -v zsh >/dev/null; then
  zsh -n ../_mokgen
  # _arguments replaced by one that prints: what would be offered behind these words.
  zask() { # PATTERN THERE(yes|no) WORD...
    local pattern=$1 there=$2 got=no
    shift 2
    zsh -fc '_arguments() { print -rl -- "$@" }; words=(mokgen "$@"); CURRENT=$#words; . ../_mokgen' _ "$@" >../out 2>&1
    ! grep -qE -e "$pattern" ../out || got=yes
    count=$((count + 1))
    [ $got = $there ] || { echo "zsh: mokgen $*<TAB>: '$pattern' is there: $got, expected $there"; cat ../out; failed=1; }
  }
  zask '^--emit=\[' yes build ''
  zask '^--emit=\[' yes ''
  zask '^--emit=\[' no run ''
  zask '^--routing=\[.*: _mokgen_words uniform dup zipf' yes -q run other.lua ''
  zask '^1:.*_mokgen_commands' yes ''
  zask '^1:.*_files -g' yes -D model.top_k=2 explain ''
  zask '^1:list' yes cache ''
else
  echo "zsh is not here; its script was not tried"
fi
[ $failed = 0 ] || exit 1
echo "$count questions"
