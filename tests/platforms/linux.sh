# What the parts for another Linux share: such a part sources this after parts.sh. The wheels are built as they ship, the C library by cargo
# alone, without the symbols' version and the hardening; both without optimization at link time, for which a standard library that was
# built here has no bitcode.

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
    built_for "$target"
}

built_for() {
    export CARGO_TARGET_DIR=$PLATFORMS/target CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_LTO=off
    built=$CARGO_TARGET_DIR/$1/release
}

# there COMMAND...: runs it on the other Linux.
there() { "$TOP/tests/platforms/enter.sh" "$system" "$qemu" "$@"; }

# library NAME: NAME is what the part tests of it.
library() {
    step "built: $1, agentjob-emulator"
    # One after the other: together they would have each other's features, and the library needs more stack then.
    cargo build --quiet --locked --release --target "$target" -p agentjob-ffi-c
    cargo build --quiet --locked --release --target "$target" -p agentjob-emulator --features tls
    python3 ffi-c/packaging/bill_of_materials.py --check "$built/libagentjob.a" "$target"
}

# c_programs KIND CC CXX [LIBRARIES]: KIND is `shared` or `static`; LIBRARIES are those that the static one needs, if not gcc's.
c_programs() {
    step "ran: the programs of tests/c, $1"
    local out=$PLATFORMS/c-$target
    make -s -j "$(nproc)" -C tests/c build KINDS="$1" LIBDIR="$built" OUT="$out" CC="$2" CXX="$3" UV= ${4:+SYSTEM_LIBS="$4"}
    OUT=$out LIBDIR=$built EMULATOR=$built/agentjob-emulator CC=none CXX=none KINDS=$1 AT_A_TIME=8 LIMIT=1200 \
        there tests/c/run.sh programs
}

# core_tests AT_ONCE: so many at a time.
core_tests() {
    step "ran: the tests of core"
    local programs
    programs=$(cargo test --quiet --locked --target "$target" -p agentjob-core --lib --tests --no-run --message-format=json |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
    [ -n "$programs" ] || { echo "cargo named no program" && exit 1; }
    for program in $programs; do
        (cd core && RUST_TEST_THREADS=$1 there "$program")
    done
}

# wheels [CC]: builds the wheels, as a release does it, and leaves them in $dist. zig links those for Linux; CC is gcc for that processor.
wheels() {
    step "built: the wheels for $target"
    packaging
    dist=$TOP/build/dist-$target
    local name=${target//-/_} own
    case $target in *-linux-*)
        own=CARGO_TARGET_${name^^}_RUSTFLAGS
        export RUSTFLAGS=${!own-}
        unset "CARGO_TARGET_${name^^}_LINKER" "CC_$name" "AR_$name"
        ;;
    esac
    make -s wheels-for CARGO_BUILD_TARGET="$target" ${1:+CC="$1"}
    unset RUSTFLAGS
    step "ran: tests/packaging, about those wheels"
    # Rust's standard library was built here: with it a wheel is larger, has paths of this machine, and names the crates of that library.
    build/packaging/venv/bin/python -m pytest -q -rs -p no:cacheprovider --dist "$dist" tests/packaging/test_linked.py tests/packaging/test_upload.py \
        tests/packaging/test_wheels.py --platforms any -k 'not (is_small or contains_a_path or that_the_module_itself_names)'
}

# python_packages PYTHON FOLDER PLATFORM DIST PACKAGES...: puts PACKAGES, and agentjob's wheel from DIST, into FOLDER, as pip would do it on
# PLATFORM with this version of Python.
python_packages() {
    local only=(--quiet --disable-pip-version-check --only-binary ':all:' --python-version "$1" --implementation cp --platform any)
    only+=(--abi abi3 --abi none --abi "cp${1/./}" --target "$2")
    for platform in $3; do only+=(--platform "$platform"); done
    rm -rf "$2"
    "$TOP/build/packaging/venv/bin/pip" install "${only[@]}" --no-index --no-deps --find-links "$4" agentjob
    "$TOP/build/packaging/venv/bin/pip" install "${only[@]}" --upgrade "${@:5}"
}
