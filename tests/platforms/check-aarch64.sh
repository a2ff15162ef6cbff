#!/usr/bin/env bash
# 64-bit ARM, under qemu: the C and C++ programs, and the core's tests.
source "$(dirname "$0")/parts.sh"
source tests/platforms/linux.sh

prepare aarch64-unknown-linux-gnu aarch64-linux-gnu arm64 aarch64
library
c_programs
core_tests
