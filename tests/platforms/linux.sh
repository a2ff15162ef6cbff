# What the parts for other processors share: such a part sources this after parts.sh. It builds with the debug profile, which takes a
# fraction of the time; `make check` tests the release build on the processor of this machine.

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
    built=$CARGO_TARGET_DIR/$target/debug
}

library() {
    step "built: libagentjob.so, agentjob-emulator"
    cargo build --quiet --locked --target "$target" -p agentjob-ffi-c -p agentjob-emulator --features agentjob-emulator/tls
}

c_programs() {
    step "ran: the programs of tests/c, with the shared library"
    local out=$PLATFORMS/c-$target
    make -s -j "$(nproc)" -C tests/c build KINDS=shared LIBDIR="$built" OUT="$out" CC="$tools/$triple-gcc" CXX="$tools/$triple-g++" UV=
    OUT=$out LIBDIR=$built EMULATOR=$built/agentjob-emulator CC=none CXX=none KINDS=shared AT_A_TIME=8 LIMIT=1200 \
        tests/platforms/enter.sh "$system" "$qemu" tests/c/run.sh programs
}
