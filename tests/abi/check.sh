#!/bin/sh
# Checks the shared library's interface: `check.sh LIBRARY`. It must export the functions of symbols.txt and nothing else, each with the
# version AGENTJOB_n, its soname must be libagentjob.so.n, where n is the header's AGENTJOB_ABI_VERSION, and dlclose() must not unload it.
set -eu
library=$1
here=$(dirname "$0")
abi=$(sed -n 's/^#define AGENTJOB_ABI_VERSION //p' "$here/../../include/agentjob.h")

ledger=$(grep -v '^#' "$here/symbols.txt" | cut -d' ' -f1 | sort)
versioned=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
unversioned=$(printf '%s\n' "$versioned" | grep -v "@@AGENTJOB_$abi\$" || true)
if [ -n "$unversioned" ]; then
    echo "these symbols do not have the version AGENTJOB_$abi:" $unversioned >&2
    exit 1
fi
exported=$(printf '%s\n' "$versioned" | sed 's/@.*//' | sort)
if [ "$ledger" != "$exported" ]; then
    echo "the library's symbols differ from symbols.txt:" >&2
    printf '%s\n' "$ledger" >"${TMPDIR:-/tmp}/agentjob-ledger.$$"
    printf '%s\n' "$exported" | diff "${TMPDIR:-/tmp}/agentjob-ledger.$$" - >&2 || true
    rm -f "${TMPDIR:-/tmp}/agentjob-ledger.$$"
    exit 1
fi

if ! readelf -dW "$library" | grep -q 'FLAGS_1.*NODELETE'; then
    echo "dlclose() would unload the library: it is not linked with -z nodelete" >&2
    exit 1
fi
# ring is compiled from C and assembler: with a stack protector, and on x86 with CET's landing pads and shadow stack. The shared library
# as a whole has no such mark, because Rust's objects have none, so the static library's objects are looked at one by one.
if ! nm -D --undefined-only "$library" | grep -q __stack_chk_fail; then
    echo "the C parts have no stack protector" >&2
    exit 1
fi
archive=${library%.so}.a
if [ "$(uname -m)" = x86_64 ] && [ -e "$archive" ]; then
    marked=$(readelf -nW "$archive" 2>/dev/null | awk '/^File:/ { object = $2 } /x86 feature:.*IBT.*SHSTK/ { print object }' | sed 's/.*(\(.*\))$/\1/')
    from_c=$(nm -A --defined-only "$archive" 2>/dev/null | sed -n 's/^[^:]*:\([^:]*\):.* [TtRr] \(ring_core_\|LIMB\).*/\1/p' | sort -u)
    [ -n "$from_c" ] || { echo "found none of ring's objects in $archive" >&2; exit 1; }
    for object in $from_c; do
        if ! printf '%s\n' "$marked" | grep -qxF "$object"; then
            echo "$object has no CET marks" >&2
            exit 1
        fi
    done
fi

soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
if [ "$soname" != "libagentjob.so.$abi" ]; then
    echo "the soname is '$soname', not libagentjob.so.$abi" >&2
    exit 1
fi
