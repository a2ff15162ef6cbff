#!/bin/sh
# Runs what the Makefile built, one line each, and checks the header and the library's symbols. Called by `make check`.
set -u
cd "$(dirname "$0")"
header=../../include/agentjob.h
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

# The header by itself and included twice, in every standard that it promises.
warnings="-Wall -Wextra -Wpedantic -Werror -fsyntax-only"
for standard in c99 c11 c17; do
    try "header alone, $standard" $CC -std=$standard $warnings -Wstrict-prototypes -x c $header
    try "header twice, $standard" $CC -std=$standard $warnings -include $header -x c $header
done
for standard in c++11 c++17 c++20; do
    try "header alone, $standard" $CXX -std=$standard $warnings -x c++ $header
    try "header twice, $standard" $CXX -std=$standard $warnings -include $header -x c++ $header
done

try "symbols and soname" ../abi/check.sh "$LIBDIR/libagentjob.so"

# The programs look for the library by its soname, which an installation links to it.
mkdir -p "$OUT/lib"
ln -sf "$LIBDIR/libagentjob.so" "$OUT/lib/libagentjob.so.0"
export LD_LIBRARY_PATH="$OUT/lib" EMULATOR

for kind in shared static; do
    export FOLLOW_UP="$OUT/$kind/follow_up"
    for source in *.c *.cpp; do
        try "$kind/${source%.*}" $RUNNER "$OUT/$kind/${source%.*}"
    done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
