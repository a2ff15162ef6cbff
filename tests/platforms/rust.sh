#!/usr/bin/env bash
# Builds Rust's standard library for a target, and prints a folder that has it beside what the toolchain has: a sysroot. Its bin/rustc
# uses it: `RUSTC=$(tests/platforms/rust.sh TARGET)/bin/rustc cargo build --target TARGET`.
#
#   rust.sh TARGET
#   rust.sh             a sysroot that has only the sources of the standard library
#
# The sources are the toolchain's, or else Debian's rust-src of exactly its version. The sysroot consists of links to the toolchain, which
# stays as it is. The exit status is 3 where there are no such sources; the reason is printed then.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${1:-}
own=$(rustc --print sysroot)
version=$(rustc --version | cut -d ' ' -f 2)
sysroot=$PWD/build/platforms/rust-$version
library=$sysroot/lib/rustlib/src/rust/library

if [ ! -d "$library" ]; then
    sources=$own/lib/rustlib/src/rust
    if [ ! -d "$sources/library" ]; then
        unpacked=$PWD/build/platforms/rust-src-$version
        for suite in trixie-backports sid none; do
            if [ "$suite" = none ]; then
                echo "Debian has no rust-src $version, the version of this toolchain (rustup component add rust-src)"
                exit 3
            fi
            if tests/platforms/debs.sh --only "$suite" amd64 "$unpacked" "rust-src=$version+*" >&2; then break; fi
        done
        sources=$(echo "$unpacked"/usr/src/rustc-*)
    fi
    mkdir -p "$sysroot/lib/rustlib/src"
    mkdir -p "$sysroot/bin"
    # Not sh: dash drops variables whose names have a hyphen, and cargo's CARGO_BIN_EXE_agentjob-emulator is one.
    printf '#!/usr/bin/env bash\nexec "%s" --sysroot "%s" "$@"\n' "$own/bin/rustc" "$sysroot" >"$sysroot/bin/rustc"
    chmod +x "$sysroot/bin/rustc"
    for part in "$own"/lib/* "$own"/lib/rustlib/*; do
        case ${part#"$own/lib/"} in rustlib | rustlib/src) ;; *) ln -sfn "$part" "$sysroot/${part#"$own/"}" ;; esac
    done
    ln -sfn "$sources" "$sysroot/lib/rustlib/src/rust"
fi

if [ -n "$target" ] && [ ! -e "$sysroot/lib/rustlib/$target/complete" ]; then
    # A program without code: cargo builds the standard library for it.
    empty=$PWD/build/platforms/std/empty
    mkdir -p "$empty/src"
    printf '[package]\nname = "empty"\nedition = "2024"\n[workspace]\n[profile.release]\nincremental = false\n' >"$empty/Cargo.toml"
    echo '#![no_std]' >"$empty/src/lib.rs"
    RUSTC_BOOTSTRAP=1 RUSTC=$sysroot/bin/rustc CARGO_TARGET_DIR=$PWD/build/platforms/std/target \
        nice cargo build --quiet --release --manifest-path "$empty/Cargo.toml" --target "$target" \
        -Zbuild-std=std,panic_unwind,panic_abort,proc_macro,test -Zbuild-std-features=backtrace,panic-unwind >&2
    lib=$sysroot/lib/rustlib/$target/lib
    rm -rf "$lib"
    mkdir -p "$lib"
    cp "$PWD/build/platforms/std/target/$target"/release/deps/*.rlib "$lib"
    rm -f "$lib"/libempty-*
    touch "$sysroot/lib/rustlib/$target/complete"
fi
echo "$sysroot"
