#!/bin/sh
# Checks the shared library's interface: `check.sh LIBRARY`. It must export the functions of symbols.txt and nothing else, and its
# soname must contain the header's AGENTJOB_ABI_VERSION.
set -eu
library=$1
here=$(dirname "$0")
abi=$(sed -n 's/^#define AGENTJOB_ABI_VERSION //p' "$here/../../include/agentjob.h")

ledger=$(grep -v '^#' "$here/symbols.txt" | cut -d' ' -f1 | sort)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | sort)
if [ "$ledger" != "$exported" ]; then
    echo "the library's symbols differ from symbols.txt:" >&2
    printf '%s\n' "$ledger" >"${TMPDIR:-/tmp}/agentjob-ledger.$$"
    printf '%s\n' "$exported" | diff "${TMPDIR:-/tmp}/agentjob-ledger.$$" - >&2 || true
    rm -f "${TMPDIR:-/tmp}/agentjob-ledger.$$"
    exit 1
fi

soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" != "libagentjob.so.$abi" ]; then
    echo "the soname is '$soname', not libagentjob.so.$abi" >&2
    exit 1
fi
