# What the parts for other processors share: such a part sources this after parts.sh. The libraries are built as they ship, but without
# optimization at link time, for which a standard library that was built here has no bitcode.

# prepare TARGET TRIPLE DEBIAN QEMU PACKAGES...: the tools to build for Rust's TARGET, which gcc calls TRIPLE, and a folder with Debian's
# libraries and PACKAGES for the processor DEBIAN. QEMU is `native` if this machine runs such programs itself.
prepare() {
    target=$1 triple=$2 debian=$3 qemu=$4
    shift 4
    system=$PLATFORMS/$debian
    step "built: Rust's standard library for $target"
    needs tests/platforms/rust.sh "$target"
    export RUSTC=$found/bin/rustc
    needs tests/platforms/gcc.sh "$triple"
    tools=$found
    needs tests/platforms/debs.sh bookworm "$debian" "$system" \
        libc6 libc-bin libgcc-s1 libstdc++6 bash coreutils dash findutils grep sed mawk openssl "$@"
    needs tests/platforms/enter.sh "$system" "$qemu" true

    local name=${target//-/_}
    export "CARGO_TARGET_${name^^}_LINKER=$tools/$triple-gcc" "CC_$name=$tools/$triple-gcc" "AR_$name=$tools/$triple-ar"
    export CARGO_TARGET_DIR=$PLATFORMS/target CARGO_INCREMENTAL=0
    export CARGO_PROFILE_RELEASE_LTO=off
    built=$CARGO_TARGET_DIR/$target/release
}

library() {
    step "built: libagentjob.so, agentjob-emulator"
    # One after the other: together they would have each other's features, and the library needs more stack then.
    cargo build --quiet --locked --release --target "$target" -p agentjob-ffi-c
    cargo build --quiet --locked --release --target "$target" -p agentjob-emulator --features tls
}

c_programs() {
    step "ran: the programs of tests/c, with the shared library"
    local out=$PLATFORMS/c-$target
    make -s -j "$(nproc)" -C tests/c build KINDS=shared LIBDIR="$built" OUT="$out" CC="$tools/$triple-gcc" CXX="$tools/$triple-g++" UV=
    OUT=$out LIBDIR=$built EMULATOR=$built/agentjob-emulator CC=none CXX=none KINDS=shared AT_A_TIME=8 LIMIT=1200 \
        tests/platforms/enter.sh "$system" "$qemu" tests/c/run.sh programs
}

core_tests() {
    step "ran: the tests of core"
    # Programs under qemu are slow, and so many at once would wait for each other.
    local programs at_once=16
    [ "$qemu" = native ] || at_once=4
    programs=$(cargo test --quiet --locked --target "$target" -p agentjob-core --lib --tests --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
    for program in $programs; do
        (cd core && RUST_TEST_THREADS=$at_once "../tests/platforms/enter.sh" "$system" "$qemu" "$program")
    done
}
