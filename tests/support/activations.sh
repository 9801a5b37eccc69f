#!/bin/sh
# activations.sh TOOL...: the words of model.activation on one line, so that tests need no list of their own. TOOL: mokgen, or a
# command that starts it.
words=$("$@" reference | sed -n 's/^| `activation` |[^|]*|[^|]*|\([^|]*\)|.*/\1/; t words; d; :words s/[`",]//g; p')
[ -n "$words" ] || { echo "activations.sh: no words of model.activation in '$* reference'" >&2; exit 1; }
echo $words
