#!/bin/bash
# libmok_symbols.sh LIBMOK.so MOK.h: the functions that the library shows are those that its header declares, and it needs no
# library but the C library's.
set -eu
declared=$(sed 's|/\*.*\*/||' "$2" | grep -oE '\bmok_[a-z_]+\(' | tr -d '(' | sort -u)
shown=$(nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | sort -u)
[ "$declared" = "$shown" ] || { echo "declared in $2 and shown by $1 differ:"; diff <(echo "$declared") <(echo "$shown") || true; exit 1; }
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libdl|libm|libpthread|ld-linux-x86-64)\.so' || true)
[ -z "$needed" ] || { echo "$1 needs $needed"; exit 1; }
echo "$(wc -l <<<"$shown") functions"
