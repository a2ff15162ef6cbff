#!/usr/bin/env bash
# Windows, under wine: the core's tests, and C and C++ programs with the library that `make install` installs. The wheel is built and looked
# into, and runs tests/python.
source "$(dirname "$0")/parts.sh"
source tests/platforms/linux.sh

target=x86_64-pc-windows-gnu compiler=x86_64-w64-mingw32
needs tests/platforms/mingw.sh
export PATH=$found:$PATH
step "built: Rust's standard library for $target"
needs tests/platforms/rust.sh "$target"
export RUSTC=$found/bin/rustc
needs tests/platforms/cmake.sh
cmake=$found
packaging
command -v pkg-config >/dev/null || ends_here "pkg-config is not installed"
needs tests/platforms/wine.sh cmd /c ver
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=$compiler-gcc CC_x86_64_pc_windows_gnu=$compiler-gcc AR_x86_64_pc_windows_gnu=$compiler-ar
built_for "$target"
there() { "$TOP/tests/platforms/wine.sh" "$@"; }
# needs_windows_only FILE: it loads nothing but what every Windows has, and python3.dll.
needs_windows_only() {
    local names more
    names=$($compiler-objdump -p "$1" | sed -n 's/.*DLL Name: //p' | tr '[:upper:]' '[:lower:]')
    [ -n "$names" ] || { echo "FAILED  $1 names no DLL" && return 1; }
    more=$(grep -vxE '(api-ms-win-.*|(advapi|crypt|kernel|secur|ws2_)32|userenv|bcrypt|bcryptprimitives|ncrypt|ntdll|msvcrt|python3)\.dll' <<<"$names" || true)
    [ -z "$more" ] || { echo "FAILED  $1 needs" $more && return 1; }
}

step "built: agentjob.dll, libagentjob.a, agentjob-emulator"
installed=$PLATFORMS/installed-$target emulator=$built/agentjob-emulator.exe
rm -rf "$installed"
to=(CARGO_BUILD_TARGET="$target" PREFIX="$installed" CC="$compiler-gcc" STRIP="$compiler-strip" BUILT_EMULATOR="$emulator")
make -s -C ffi-c emulator "${to[@]}" CARGOFLAGS="--locked --features tls"
make -s -C ffi-c install "${to[@]}"
needs_windows_only "$installed/bin/agentjob.dll"
needs_windows_only "$emulator"
# Where a program finds its DLLs: agentjob's, and those of its compiler.
WINEPATH="Z:$installed/bin"
for dll in libwinpthread-1.dll libgcc_s_seh-1.dll libstdc++-6.dll; do
    WINEPATH+=";Z:$(dirname "$(find "$PLATFORMS/mingw" -name "$dll" | sort | tail -n 1)")"
done
export WINEPATH

step "ran: the example in C and C++, built as pkg-config and CMake say"
out=$PLATFORMS/examples-$target
rm -rf "$out"
mkdir -p "$out"
for kind in agentjob agentjob-static; do
    flags=$(PKG_CONFIG_PATH=$installed/lib/pkgconfig pkg-config --cflags --libs "$kind")
    "$compiler-gcc" -std=c11 ffi-c/examples/follow_up.c $flags -o "$out/pkg-config-c-$kind.exe"
    "$compiler-g++" -std=c++17 ffi-c/examples/follow_up.cpp $flags -o "$out/pkg-config-cpp-$kind.exe"
done
cat >"$out/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.13)
project(follow_up C CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(agentjob REQUIRED)
foreach(language c cpp)
    foreach(kind agentjob static)
        add_executable(cmake-\${language}-\${kind} $TOP/ffi-c/examples/follow_up.\${language})
        target_link_libraries(cmake-\${language}-\${kind} PRIVATE agentjob::\${kind})
    endforeach()
endforeach()
END
"$cmake" -S "$out" -B "$out/build" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER="$compiler-gcc" -DCMAKE_CXX_COMPILER="$compiler-g++" \
    -Dagentjob_DIR="$installed/lib/cmake/agentjob" -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$out" >"$out/log"
"$cmake" --build "$out/build" >>"$out/log" || { cat "$out/log" && exit 1; }
# It ends when this script closes its standard input.
coproc SERVICE { there "$installed/bin/agentjob-emulator.exe" --until-stdin-closes; }
read -r line <&"${SERVICE[0]}"
field() { sed "s/.*\"$1\":\"\([^\"]*\)\".*/\1/" <<<"$line"; }
passed=0
for program in "$out"/*.exe; do
    said=$(AGENTJOB_BASE_URL=$(field base_url) AGENTJOB_API_KEY=$(field api_key) AGENTJOB_PROJECT_ID=$(field project_id) there "$program" job_demo "go on") || true
    [[ $said == *'"status":"completed"'* ]] || { echo "FAILED  $program printed: $said" && exit 1; }
    passed=$((passed + 1))
done
echo "$passed passed, 0 failed"
exec {SERVICE[1]}>&-

# They use what only Unix has: signals, fork, the cancellation of a thread, the limits of a process, or sockets that are files.
without=(
    a_batch_is_ended_by_a_token_a_signal_or_close a_batch_leaves_signals_to_the_program a_dead_connection_raises_no_signal
    a_forked_child_does_not_touch_its_parents_batch a_forked_child_uses_its_parents_client a_journal_belongs_to_one_batch_at_a_time
    a_large_record_takes_little_memory a_panic_is_returned_as_an_error a_signal_handler_cancels_a_request
    a_stopped_create_that_is_cancelled_has_its_job a_stopped_process_reads_its_response a_thread_is_cancelled_after_its_call
    a_cpp_thread_is_cancelled_after_its_call every_call_fits_in_a_64_kib_stack frequent_signals_change_nothing
    headers_go_with_every_request nothing_takes_the_place_of_closed_standard_streams the_batch_example_resumes
    the_example_exits_like_the_command_line the_loop_examples_wait_for_jobs
)
programs=$(cd tests/c && printf '%s\n' *.c *.cpp | sed 's/\.[a-z]*$//' | grep -vxF "$(printf '%s\n' "${without[@]}")")
for kind in shared static; do
    step "ran: the programs of tests/c, $kind"
    echo "SKIPPED: ${#without[@]} programs that use signals, fork or what else only Unix has"
    here=(KINDS="$kind" LIBDIR="$installed/lib" OUT="$PLATFORMS/c-$target" EXE=.exe CC="$compiler-gcc" CXX="$compiler-g++")
    make -s -j "$(nproc)" -C tests/c build "${here[@]}" PROGRAMS="$(echo $programs)" SHARED=libagentjob.dll.a LIBS=-lws2_32 UV= \
        SYSTEM_LIBS="$(sed -n 's/^Libs.private: //p' "$installed/lib/pkgconfig/agentjob.pc")"
    env "${here[@]}" EMULATOR="Z:$emulator" CC=none CXX=none ONLY="$(echo $programs)" RUNNER="$TOP/tests/platforms/wine.sh" AT_A_TIME=8 \
        tests/c/run.sh programs
done

core_tests 8

wheels
python3 -m zipfile -e "$dist"/*.whl "$out/wheel"
needs_windows_only "$out/wheel/agentjob/_native.pyd"

needs tests/platforms/python-windows.sh
python=$found
# shtab's absence is a test; a Python that is embedded takes no other path from the environment. trio's parts for Windows are in cffi.
python_packages 3.11 "$python/site-packages" win_amd64 "$dist" pytest pytest-xdist colorama anyio trio cffi rich
step "ran: tests/python with that wheel"
echo "SKIPPED: the files in which most tests need signals, forks, a terminal, openssl, PostgreSQL or a workflow engine; trio, which wine cannot run"
files=(
    arguments at_home batch batch_aio batch_decisions batch_events batch_items batch_list batch_report batch_sequence aio calls cli cli_events
    cli_help errors headers hosts key_rotation logging meta once once_aio once_pace once_send_all once_sqlite once_stores once_worklist
    once_workers processes pytest_plugin records secrets surface threads weight
)
there "$python/python.exe" -B -m pytest -q -rsfE --tb=short -n 4 -p no:cacheprovider -k "not trio and not nursery" \
    $(printf 'tests/python/test_%s.py ' "${files[@]}")
step "ran: tests/python/test_windows.py in a console"
# wine makes a console of a terminal. What pytest writes must not get there.
program="import os, sys, pytest; os.dup2(os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 1); sys.exit(pytest.main(sys.argv[2:]))"
in_terminal="import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
status=0
python3 -c "$in_terminal" "$TOP/tests/platforms/wine.sh" "$python/python.exe" -B -c "$program" "$out/console" -q -rs -p no:cacheprovider \
    tests/python/test_windows.py </dev/null >"$out/terminal" || status=$?
cat "$out/console"
[ "$status" -eq 0 ]
