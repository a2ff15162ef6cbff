#!/usr/bin/env bash
# 64-bit ARM, under qemu: the C and C++ programs, the core's tests, and a wheel with Debian's Python.
source "$(dirname "$0")/parts.sh"
source tests/platforms/linux.sh

prepare aarch64-unknown-linux-gnu aarch64-linux-gnu arm64 aarch64 procps python3 tzdata
library "libagentjob.so, libagentjob.a"
for kind in shared static; do c_programs "$kind" "$tools/$triple-gcc" "$tools/$triple-g++"; done
core_tests 4

wheels "$tools/$triple-gcc"
step "ran: tests/python with that wheel and Debian's Python"
glibc=(manylinux2014 manylinux_2_{17,24,26,27,28,31,34,35})
grep -v '^maturin' tests/python/requirements.txt >"$PLATFORMS/requirements-$target.txt"
# Where this Python looks in isolated mode, too.
python_packages 3.11 "$system/usr/local/lib/python3.11/dist-packages" "${glibc[*]/%/_aarch64}" "$dist" -r "$PLATFORMS/requirements-$target.txt"
echo "SKIPPED: memory, threads and blocked signals of a Python process: qemu has its own in it"
without=(--ignore tests/python/test_weight.py)
if [ -z "${SLOW:-}" ]; then
    echo "SKIPPED without SLOW=1: more than the basic tests of the command line, which take half an hour because each starts Python several times"
    without+=("--ignore-glob=*/test_cli_*")
fi
there python3 -B -m pytest -q -rsfE -n 4 -p no:cacheprovider tests/python "${without[@]}" \
    --deselect tests/python/test_emulator_threads.py::test_each_thread_of_the_emulator_blocks_all_signals_but_its_own_faults
