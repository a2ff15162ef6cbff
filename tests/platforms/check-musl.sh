#!/usr/bin/env bash
# Linux with musl: C programs without any shared library, the core's tests, and a wheel in a Python that was built for musl.
source "$(dirname "$0")/parts.sh"
source tests/platforms/linux.sh

target=x86_64-unknown-linux-musl
step "built: Rust's standard library for $target"
needs tests/platforms/rust.sh "$target"
export RUSTC=$found/bin/rustc
needs tests/platforms/zig.sh x86_64-linux-musl
tools=$found
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=$tools/cc CC_x86_64_unknown_linux_musl=$tools/cc AR_x86_64_unknown_linux_musl=$tools/ar
# What a program begins with and the C library itself are zig's.
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_RUSTFLAGS="-C link-self-contained=no"
built_for "$target"
there() { "$@"; }

library libagentjob.a
c_programs static "$tools/cc" "$tools/c++" -lunwind
core_tests 16

wheels
step "built: CPython for musl"
system=$PLATFORMS/musl
needs tests/platforms/debs.sh bookworm amd64 "$system" \
    libc6 libc-bin bash coreutils dash findutils grep sed mawk openssl procps make musl tar gzip diffutils
needs tests/platforms/enter.sh "$system" native true
needs tests/platforms/python-musl.sh "$system"
python=$found/bin/python3
python_packages 3.11 "$found/lib/python3.11/site-packages" musllinux_1_2_x86_64 "$dist" pytest pytest-xdist anyio rich shtab
there() { tests/platforms/enter.sh "$system" native "$@"; }
step "ran: tests/python with that wheel"
echo "SKIPPED: steps and what else needs sqlite3 or ssl, which this CPython lacks; the files for Celery, Dask and OpenTelemetry"
without=(celery client_certificate dask docs once opentelemetry surface)
ignored=("${without[@]/#/--ignore-glob=*test_}")
there "$python" -B -m pytest -q -rsfE -n 4 -p no:cacheprovider "${ignored[@]/%/*}" tests/python \
    --deselect "tests/python/test_no_unix.py::test_it_works_without_what_only_unix_has[steps]"
