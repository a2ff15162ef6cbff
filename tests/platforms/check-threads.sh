#!/usr/bin/env bash
# ThreadSanitizer over both sides of every lock: the C programs with threads, with a library and a standard library built for it.
source "$(dirname "$0")/parts.sh"

needs tests/platforms/clang.sh
export PATH=$found:$PATH
needs tests/platforms/rust.sh
compgen -G "$(rustc --print sysroot)/lib/rustlib/*/lib/librustc-*_rt.tsan.a" >/dev/null || ends_here "rustc has no runtime of ThreadSanitizer"
step "ran: C programs with threads under ThreadSanitizer"
cargo build --quiet --locked -p agentjob-emulator --features tls
make -s -C tests/c check-threads SYSROOT="$found" OUT="$PWD/build/c-debug" EMULATOR="${CARGO_TARGET_DIR:-$PWD/target}/debug/agentjob-emulator"
