#!/bin/sh
# Runs parts of what the Makefile names, one line each: `run.sh PART...`. Called by the Makefile.
#
#   headers   every header by itself and twice, in every standard that they promise, with every compiler that is here
#   nulls     whether null_is_looked_for_everywhere.c looks everywhere
#   symbols   the shared library's symbols and soname
#   programs  what was built, below RUNNER if there is one; ONLY names some of them
set -u
cd "$(dirname "$0")"
include=../../include
log=$OUT/log
passed=0
failed=0

# try NAME COMMAND...: silent if it succeeds, all that it said if it does not.
try() {
    name=$1
    shift
    if timeout 120 "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name"
        sed 's/^/        /' "$log"
    fi
}

headers() {
    warnings="-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -pthread -I$include"
    for pair in "$CC $CXX" "clang clang++"; do
        cc=${pair% *}
        cxx=${pair#* }
        if ! command -v "$cc" >/dev/null || ! command -v "$cxx" >/dev/null; then
            echo "SKIPPED headers with $cc and $cxx: they are not here (apt-get install clang)"
            continue
        fi
        header=$include/agentjob.h
        for standard in c99 c11 c17; do
            try "agentjob.h alone, $cc $standard" $cc -std=$standard $warnings -Wstrict-prototypes -x c $header
            try "agentjob.h twice, $cc $standard" $cc -std=$standard $warnings -include $header -x c $header
        done
        for standard in c++11 c++14 c++17 c++20; do
            try "agentjob.h alone, $cxx $standard" $cxx -std=$standard $warnings -x c++ $header
            try "agentjob.h twice, $cxx $standard" $cxx -std=$standard $warnings -include $header -x c++ $header
        done
        for standard in c++17 c++20; do
            for header in agentjob.hpp agentjob_batch.hpp agentjob_types.hpp; do
                try "$header alone, $cxx $standard" $cxx -std=$standard $warnings -x c++ $include/$header
                try "$header twice, $cxx $standard" $cxx -std=$standard $warnings -include $include/$header -x c++ $include/$header
            done
            # Templates are only looked at where they are used.
            for source in *.cpp ../../ffi-c/examples/*.cpp; do
                try "${source##*/}, $cxx $standard" $cxx -std=$standard $warnings $source
            done
        done
    done
}

# Functions that take a pointer and are named neither in the program that gives NULL nor in the one that frees it.
without_null() {
    tr '\n' ' ' <$include/agentjob.h | grep -o 'AGENTJOB_API [^;]*;' | grep '\*[a-z_]*[,)]' | grep -o 'agentjob_[a-z0-9_]*(' |
        while read -r name; do
            grep -qF "$name" null_is_looked_for_everywhere.c freeing_null_does_nothing.c || echo "$name"
        done
}

programs() {
    # They look for the library by its soname, which an installation links to it.
    mkdir -p "$OUT/lib"
    ln -sf "$LIBDIR/libagentjob.so" "$OUT/lib/libagentjob.so.0"
    export LD_LIBRARY_PATH="$OUT/lib" EMULATOR
    for kind in $KINDS; do
        export FOLLOW_UP="$OUT/$kind/follow_up" BATCH="$OUT/$kind/batch"
        for name in ${ONLY:-$(ls *.c *.cpp)}; do
            try "$kind/${name%.*}" ${RUNNER:-} "$OUT/$kind/${name%.*}"
        done
        if [ -z "${ONLY:-}" ]; then
            example=the_example_exits_like_the_command_line
            FOLLOW_UP="$OUT/$kind/follow_up_cpp" try "$kind/$example, C++" ${RUNNER:-} "$OUT/$kind/$example"
        fi
    done
}

mkdir -p "$OUT"
for part in "$@"; do
    case $part in
    headers) headers ;;
    nulls) try "every function that takes a pointer is given NULL: $(without_null)" [ -z "$(without_null)" ] ;;
    symbols) try "symbols and soname" ../abi/check.sh "$LIBDIR/libagentjob.so" ;;
    programs) programs ;;
    esac
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
