#!/usr/bin/env bash
# macOS on ARM: everything is compiled as far as cargo can without Apple's linker. Nothing runs.
source "$(dirname "$0")/parts.sh"

target=aarch64-apple-darwin
step "built: Rust's standard library for $target"
needs tests/platforms/rust.sh "$target"
export RUSTC=$found/bin/rustc
# ring compiles some C.
needs tests/platforms/zig.sh aarch64-macos
export CC_aarch64_apple_darwin=$found/cc AR_aarch64_apple_darwin=$found/ar
# Without an interpreter to ask, pyo3 takes the oldest of the stable ABI.
export PYO3_NO_PYTHON=1 CARGO_TARGET_DIR=$PLATFORMS/target CARGO_INCREMENTAL=0
step "compiled, not linked: every crate with its tests"
RUSTFLAGS="-D warnings" cargo check --quiet --locked --workspace --all-targets --target "$target"
