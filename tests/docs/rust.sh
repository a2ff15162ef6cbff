#!/bin/sh
# Runs one Rust file as a program that depends on agentjob-core: the one that `make emulator` has built together with all crates, since
# cargo would build most of them again for a package outside the workspace, whose features are fewer.
set -eu
rustc --edition 2024 --crate-name example "$1" -o example -L dependency="$CARGO_TARGET_DIR/debug/deps" \
    --extern agentjob_core="$CARGO_TARGET_DIR/debug/libagentjob_core.rlib"
exec ./example
