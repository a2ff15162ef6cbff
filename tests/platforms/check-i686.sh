#!/usr/bin/env bash
# 32-bit x86, which most x86-64 machines run themselves: the C and C++ programs, and the core's tests.
source "$(dirname "$0")/parts.sh"
source tests/platforms/linux.sh

prepare i686-unknown-linux-gnu i686-linux-gnu i386 native strace util-linux iproute2 procps
library "libagentjob.so, libagentjob.a"
for kind in shared static; do c_programs "$kind" "$tools/$triple-gcc" "$tools/$triple-g++"; done
core_tests 16
