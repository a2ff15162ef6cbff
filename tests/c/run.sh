#!/bin/sh
# Runs checks and prints one line for each: `run.sh PART...`. Called by the Makefile.
#
#   headers   every header alone and included twice, in every standard that it supports, with every installed compiler
#   nulls     whether every_function_checks_for_null.c has every function
#   symbols   the shared library's symbols, their version, and its soname; the notices of the crates in it; no path of this machine
#   programs  the built programs, under RUNNER if set, AT_A_TIME at a time; ONLY="name shared/name" selects some of them
set -u
: "${EXE:=}"
cd "$(dirname "$0")"
include=../../include
results=$OUT/results.$$

# try NAME COMMAND...: prints one line, and the command's output if it fails. A command gets at most LIMIT (300) seconds. What a signal
# or the limit ended has a line that says so.
try() {
    name=$1
    log=$(mktemp "$OUT/log.XXXXXX")
    shift
    timeout "${LIMIT:-300}" "$@" >"$log" 2>&1
    status=$?
    if [ "$status" -eq 0 ]; then
        echo "ok      $name"
    else
        ended=
        [ "$status" -lt 124 ] || ended="        ended with status $status
"
        # In one write, because others print at the same time.
        printf '%s\n' "FAILED  $name
$ended$(sed 's/^/        /' "$log")"
    fi
    rm -f "$log"
}

# accepted COMPILER LANGUAGE FLAG...: those of the flags that this compiler has.
accepted() {
    compiler=$1
    language=$2
    shift 2
    for flag; do
        ! $compiler -Werror "$flag" -fsyntax-only -x "$language" /dev/null 2>/dev/null || printf '%s ' "$flag"
    done
}

# The C++ headers in one standard, alone and in every program.
wrappers() {
    for header in agentjob.hpp agentjob_batch.hpp agentjob_types.hpp; do
        try "$header alone, $cxx $standard" $cxx -std=$standard $warnings $of_cxx -x c++ $include/$header
        try "$header twice, $cxx $standard" $cxx -std=$standard $warnings -include $include/$header -x c++ $include/$header
    done
    # Compilers check templates only where they are used. support.hpp is no model of Effective C++, but the headers are.
    for source in *.cpp ../../ffi-c/examples/*.cpp; do
        try "${source##*/}, $cxx $standard, more warnings" sh -c "said=\$($cxx -std=$standard $warnings $of_cxx $no_errors $source 2>&1) ||
            { echo \"\$said\"; exit 1; }; ! echo \"\$said\" | grep '/include/agentjob'"
    done
}

headers() {
    warnings="-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -pthread -I$include"
    # What programs turn on besides: -Wpadded and -Wweak-vtables are about every C++ header, so they are not here.
    more="-Wsign-conversion -Wshadow -Wundef -Wcast-qual -Wcast-align -Wmissing-declarations -Wredundant-decls -Wswitch-enum -Wfloat-equal
        -Wdouble-promotion -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wnull-dereference -Wdocumentation"
    for pair in "$CC $CXX" "clang clang++"; do
        cc=${pair% *}
        cxx=${pair#* }
        if ! command -v "$cc" >/dev/null || ! command -v "$cxx" >/dev/null; then
            echo "SKIPPED headers with $cc and $cxx: they are not installed (apt-get install clang)"
            continue
        fi
        of_c=$(accepted "$cc" c $more -Wc++-compat -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wbad-function-cast)
        of_cxx=$(accepted "$cxx" c++ $more -Weffc++ -Wold-style-cast -Wuseless-cast -Wnon-virtual-dtor -Woverloaded-virtual -Wsuggest-override \
            -Wextra-semi -Wzero-as-null-pointer-constant -Wnoexcept -Wredundant-tags -Wmismatched-tags -Wctor-dtor-privacy -Wsign-promo)
        no_errors=$(echo "$of_cxx" | sed 's/-W/-Wno-error=/g')
        header=$include/agentjob.h
        for standard in c99 c11 c17 $(accepted "$cc" c -std=c23 | sed 's/-std=//'); do
            try "agentjob.h alone, $cc $standard" $cc -std=$standard $warnings $of_c -x c $header
            try "agentjob.h twice, $cc $standard" $cc -std=$standard $warnings -include $header -x c $header
        done
        for source in ../../ffi-c/examples/*.c; do
            # Without libuv its example can't be compiled; programs() says that it is skipped.
            case $source in */loop_uv.c) pkg-config --exists libuv 2>/dev/null || continue ;; esac
            try "${source##*/}, $cc -Wc++-compat" $cc -std=c11 -D_XOPEN_SOURCE=700 $warnings -Wc++-compat \
                $(pkg-config --cflags libuv 2>/dev/null) $source
        done
        for standard in c++11 c++14 c++17 c++20; do
            try "agentjob.h alone, $cxx $standard" $cxx -std=$standard $warnings $of_cxx -x c++ $header
            try "agentjob.h twice, $cxx $standard" $cxx -std=$standard $warnings -include $header -x c++ $header
        done
        # These take the most time, so the two standards are checked beside each other.
        for standard in c++17 c++20; do
            wrappers &
        done
        wait
    done
}

# Functions that take a pointer and are missing in both programs that pass NULL.
without_null() {
    tr '\n' ' ' <$include/agentjob.h | grep -o 'AGENTJOB_API [^;]*;' | grep '\*[a-z_]*[,)]' | grep -o 'agentjob_[a-z0-9_]*(' |
        while read -r name; do
            grep -qF "$name" every_function_checks_for_null.c freeing_null_does_nothing.c || echo "$name"
        done
}

# run_one KIND NAME: one program. NAME_cpp is NAME with the example that is written in C++.
run_one() {
    program=${2%_cpp}
    example=follow_up
    [ "$program" = "$2" ] || example=follow_up_cpp
    export FOLLOW_UP="$OUT/$1/$example$EXE" BATCH="$OUT/$1/batch$EXE" LOOP_POLL="$OUT/$1/loop_poll$EXE" LOOP_UV="$OUT/$1/loop_uv$EXE"
    try "$1/$2" ${RUNNER:-} "$OUT/$1/$program$EXE"
}

programs() {
    # They load the library by its soname, as after an installation.
    mkdir -p "$OUT/lib"
    ln -sf "$LIBDIR/libagentjob.so" "$OUT/lib/libagentjob.so.0"
    export LD_LIBRARY_PATH="$OUT/lib" EMULATOR OUT
    export RUNNER="${RUNNER:-}"
    pkg-config --exists libuv 2>/dev/null || echo "SKIPPED loop_uv.c: libuv is not installed (apt-get install libuv1-dev pkg-config)"
    for kind in $KINDS; do
        for name in ${ONLY:-$(ls *.c *.cpp) the_example_exits_like_the_command_line_cpp}; do
            case $name in */*) [ "${name%/*}" = "$kind" ] || continue ;; esac
            name=${name#*/}
            printf '%s\0%s\0' "$kind" "${name%.*}"
        done
    done | xargs -0 -n 2 -P "${AT_A_TIME:-1}" ./run.sh --one ||
        echo "FAILED  programs: xargs ended with status $?, so perhaps not every program ran"
}

if [ "$1" = --one ]; then
    run_one "$2" "$3"
    exit
fi
mkdir -p "$OUT"
# The compiler checks headers beside everything else, because programs mostly wait.
{
    for part in "$@"; do
        case $part in
        headers) headers & ;;
        nulls) try "every function that takes a pointer is tested with NULL: $(without_null)" [ -z "$(without_null)" ] ;;
        symbols)
            try "symbols, their version, and soname" ../abi/check.sh "$LIBDIR/libagentjob.so"
            try "no path of this machine" python3 ../abi/no_build_paths.py "$LIBDIR/libagentjob.so" "$LIBDIR/libagentjob.a"
            try "THIRD-PARTY-NOTICES are those of the linked crates" python3 ../../ffi-c/packaging/notices.py --check "$LIBDIR/libagentjob.so"
            ;;
        programs) programs ;;
        esac
    done
    wait
} | tee "$results"
failed=$(grep -c '^FAILED ' "$results")
passed=$(grep -c '^ok ' "$results")
echo "$passed passed, $failed failed"
rm -f "$results"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
