#!/bin/sh
# `make check-install`: installs into a temporary folder, builds examples/follow_up.c and .cpp in each way that the top of the Makefile
# names, and runs them against the emulator. Then it moves the folder and does the same again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"; exec 3>&-' EXIT
unset CDPATH LD_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH MAKEFLAGS MAKELEVEL || true
CC=${CC:-cc} CXX=${CXX:-c++}
warnings="-Wall -Wextra -Wpedantic -Wconversion -Werror"

fail() {
    echo "FAILED  $*" >&2
    exit 1
}

# try NAME COMMAND...: prints one line on success, the command's output on failure.
try() {
    name=$1
    shift
    "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "$name"; }
    echo "ok      $name"
}

# have TOOL CHECKS: whether the tool is installed, or can be installed with apt-get.
have() {
    command -v "$1" >/dev/null && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get update -qq && apt-get install -y -qq --no-install-recommends "$1"; } >/dev/null 2>&1 || true
        command -v "$1" >/dev/null && return
    fi
    echo "SKIPPED $2: $1 is not installed (apt-get install $1)"
    return 1
}

# runs NAME PROGRAM LIBDIR: the program works, and needs libagentjob at run time only if NAME contains "shared".
runs() {
    LD_LIBRARY_PATH=$3 "$2" job_123 "Also cover the error cases" >"$work/out" 2>"$work/log" || { cat "$work/log" >&2; fail "$1 does not run"; }
    grep -q '"status":"completed"' "$work/out" || fail "$1 printed $(cat "$work/out")"
    if [ "$(uname -s)" = Linux ]; then
        needed=$(readelf -d "$2" | sed -n 's/.*NEEDED.*\[\(libagentjob.*\)\].*/\1/p')
        case $1 in *shared*) wanted=libagentjob.so.$ABI ;; *) wanted= ;; esac
        [ "$needed" = "$wanted" ] || fail "$1 needs '$needed' at run time, not '$wanted'"
    fi
    echo "ok      $1"
}

# four_ways NAME PREFIX LIBDIR [CMAKE_OPTION]
four_ways() {
    build=$work/build-$1
    mkdir -p "$build"
    PKG_CONFIG_PATH=$3/pkgconfig CMAKE_PREFIX_PATH=$2
    export PKG_CONFIG_PATH CMAKE_PREFIX_PATH
    can_be_static=OFF
    ! echo 'int main(void) { return 0; }' | $CC -static -x c - -o /dev/null 2>/dev/null || can_be_static=ON
    if have pkg-config "$1: pkg-config"; then
        [ "$(pkg-config --modversion agentjob)" = "$VERSION" ] || fail "$1: pkg-config says $(pkg-config --modversion agentjob)"
        [ "$(cd "$(pkg-config --variable=prefix agentjob)" && pwd -P)" = "$(cd "$2" && pwd -P)" ] || fail "$1: pkg-config's prefix"
        shared=$(pkg-config --cflags --libs agentjob)
        static=$(pkg-config --cflags --libs agentjob-static)
        fully_static="-static $(pkg-config --static --cflags --libs agentjob)"
        static_pie="-static-pie -fPIE $(pkg-config --static --cflags --libs agentjob)"
        kinds="shared static"
        [ "$can_be_static" = OFF ] || kinds="$kinds fully_static static_pie"
        for kind in $kinds; do
            eval "flags=\$$kind"
            try "$1: C, pkg-config, $kind, built" $CC -std=c11 $warnings "$here/examples/follow_up.c" $flags -o "$build/c-$kind"
            runs "$1: C, pkg-config, $kind" "$build/c-$kind" "$3"
            try "$1: C++, pkg-config, $kind, built" $CXX -std=c++17 $warnings "$here/examples/follow_up.cpp" $flags -o "$build/cpp-$kind"
            runs "$1: C++, pkg-config, $kind" "$build/cpp-$kind" "$3"
        done
    fi
    if have cmake "$1: CMake"; then
        cat >"$build/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(follow_up C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(agentjob ${VERSION%.*} REQUIRED)
find_package(agentjob REQUIRED) # twice is allowed
foreach(language c cpp)
    foreach(kind agentjob static)
        add_executable(\${language}-\${kind} $here/examples/follow_up.\${language})
        target_link_libraries(\${language}-\${kind} PRIVATE agentjob::\${kind})
    endforeach()
    if($can_be_static)
        add_executable(\${language}-fully_static $here/examples/follow_up.\${language})
        target_link_libraries(\${language}-fully_static PRIVATE agentjob::static -static)
    endif()
endforeach()
find_package(agentjob 999 QUIET)
if(agentjob_FOUND)
    message(FATAL_ERROR "version 999 was found")
endif()
END
        try "$1: CMake, configured" cmake -S "$build" -B "$build/cmake" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" ${4:-}
        try "$1: CMake, built" cmake --build "$build/cmake"
        # No LD_LIBRARY_PATH: CMake stores the library's path in the program.
        for language in c cpp; do
            runs "$1: $language, CMake, shared" "$build/cmake/$language-agentjob" ""
            runs "$1: $language, CMake, static" "$build/cmake/$language-static" ""
            [ "$can_be_static" = OFF ] || runs "$1: $language, CMake, fully_static" "$build/cmake/$language-fully_static" ""
        done
    fi
}

# no_paths PREFIX LIBDIR: no installed text file contains an absolute path.
no_paths() {
    if grep -rnE "$1|$work|@[A-Z_]+@" "$2/pkgconfig" "$2/cmake" "$1/include" | grep -v '@rpath'; then
        fail "an installed file contains a path of this machine"
    fi
    echo "ok      no installed file contains a path of this machine"
}

install_into() { "$MAKE" --no-print-directory -s -C "$here" install "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; fail "install $*"; }; }

# 1. A plain prefix, then the same after a move.
install_into PREFIX="$work/first"
# Whatever the modes of new files are, everyone can read what is installed.
(umask 077 && install_into PREFIX="$work/private/usr")
closed=$(find "$work/private/usr" ! -type l ! -perm -044)
[ -z "$closed" ] || fail "not everyone can read $closed"
rm -rf "$work/private"
found=$(cd "$work/first" && find . ! -type d | LC_ALL=C sort | tr '\n' ' ')
[ "$(uname -s)" != Linux ] || [ "$found" = "./bin/agentjob-emulator ./include/agentjob.h ./include/agentjob.hpp ./include/agentjob_batch.hpp ./include/agentjob_types.hpp ./lib/cmake/agentjob/agentjobConfig.cmake\
 ./lib/cmake/agentjob/agentjobConfigVersion.cmake ./lib/libagentjob.a ./lib/libagentjob.so ./lib/libagentjob.so.$ABI ./lib/libagentjob.so.$VERSION\
 ./lib/pkgconfig/agentjob-static.pc ./lib/pkgconfig/agentjob.pc ./share/agentjob/tsan.supp ./share/agentjob/valgrind.supp\
 ./share/doc/agentjob/LICENSE-APACHE ./share/doc/agentjob/LICENSE-MIT ./share/doc/agentjob/THIRD-PARTY-NOTICES ./share/doc/agentjob/libagentjob.cdx.json " ] || fail "installed was $found"
echo "ok      both libraries, the headers, links, pkg-config and CMake files, the emulator, suppressions, licences and the bill of materials, and nothing else"
if [ "$(uname -s)" = Linux ]; then
    try "symbols and soname" "$here/../tests/abi/check.sh" "$work/first/lib/libagentjob.so"
fi
no_paths "$work/first" "$work/first/lib"
grep -q '^Libs.private: .*-lpthread' "$work/first/lib/pkgconfig/agentjob.pc" || fail "agentjob.pc has no Libs.private"
try "THIRD-PARTY-NOTICES name every crate in the installed binaries" python3 "$here/packaging/notices.py" --check "$work/first/bin/agentjob-emulator" \
    "$work/first/lib/libagentjob.a" "$work/first/lib/libagentjob.so.$VERSION"
try "no installed binary contains a path of this machine" python3 "$here/../tests/abi/no_build_paths.py" "$work/first/bin/agentjob-emulator" \
    "$work/first/lib/libagentjob.a" "$work/first/lib/libagentjob.so.$VERSION"
# The installed emulator, which ends when this script closes its end of the pipe.
mkfifo "$work/alive" "$work/says"
echo '{"work_ms": 600, "jobs": [{"id": "job_123", "status": "completed"}]}' >"$work/emulator.json"
"$work/first/bin/agentjob-emulator" --config "$work/emulator.json" --until-stdin-closes <"$work/alive" >"$work/says" &
exec 3>"$work/alive"
read -r line <"$work/says"
field() { printf '%s' "$line" | sed 's/.*"'"$1"'":"\([^"]*\)".*/\1/'; }
AGENTJOB_BASE_URL=$(field base_url) AGENTJOB_API_KEY=$(field api_key) AGENTJOB_PROJECT_ID=$(field project_id) NO_PROXY='*'
export AGENTJOB_BASE_URL AGENTJOB_API_KEY AGENTJOB_PROJECT_ID NO_PROXY
[ -n "$line" ] || fail "the installed emulator does not run"

# A program of yours under valgrind and ThreadSanitizer, with the installed suppressions.
under_tools() {
    supp=$1/share/agentjob
    $CC -std=c11 -g "$here/examples/follow_up.c" -I"$1/include" -L"$1/lib" -lagentjob -o "$work/plain"
    if have valgrind "valgrind.supp"; then
        LD_LIBRARY_PATH=$1/lib try "valgrind with valgrind.supp" valgrind -q --error-exitcode=99 --leak-check=full \
            --errors-for-leak-kinds=definite,indirect,possible --suppressions="$supp/valgrind.supp" "$work/plain" job_123 "go on"
    fi
    if $CC -std=c11 -g -fsanitize=thread "$here/examples/follow_up.c" -I"$1/include" -L"$1/lib" -lagentjob -o "$work/tsan" 2>/dev/null; then
        TSAN_OPTIONS="suppressions=$supp/tsan.supp exitcode=66" LD_LIBRARY_PATH=$1/lib try "ThreadSanitizer with tsan.supp" "$work/tsan" job_123 "go on"
    else
        echo "SKIPPED tsan.supp: $CC has no ThreadSanitizer"
    fi
}
[ "$(uname -s)" != Linux ] || under_tools "$work/first"
four_ways "installed" "$work/first" "$work/first/lib"
mv "$work/first" "$work/moved"
four_ways "moved" "$work/moved" "$work/moved/lib"

# 2. As a distribution does: staged, with its own libdir.
install_into DESTDIR="$work/stage" PREFIX=/usr LIBDIR=lib/some-linux-gnu
[ ! -e /usr/lib/some-linux-gnu ] || fail "DESTDIR was ignored"
no_paths "$work/stage/usr" "$work/stage/usr/lib/some-linux-gnu"
# CMake searches only its own system's libdir by default.
four_ways "staged" "$work/stage/usr" "$work/stage/usr/lib/some-linux-gnu" "-Dagentjob_DIR=$work/stage/usr/lib/some-linux-gnu/cmake/agentjob"

# 3. What cannot be installed to is refused.
for wrong in "PREFIX=usr" "PREFIX=/a folder" "LIBDIR=a folder" "INCLUDEDIR=/opt/a&b" "DESTDIR=stage"; do
    ! "$MAKE" --no-print-directory -s -C "$here" uninstall "$wrong" >"$work/log" 2>&1 || fail "$wrong was accepted"
    grep -q "${wrong%%=*} must be" "$work/log" || { cat "$work/log" >&2; fail "$wrong is not named"; }
    echo "ok      $wrong is refused"
done

# 4. Uninstall.
: >"$work/moved/lib/another-package"
"$MAKE" --no-print-directory -s -C "$here" uninstall PREFIX="$work/moved"
left=$(cd "$work/moved" && find . ! -type d)
[ "$left" = ./lib/another-package ] || fail "uninstall left $left"
echo "ok      uninstall removes the installed files and nothing else"
