#!/usr/bin/env bash
# IBM Z, a processor that stores numbers with the high byte first, under qemu: the core's tests, and with them the journal's bytes.
source "$(dirname "$0")/parts.sh"
source tests/platforms/linux.sh

prepare s390x-unknown-linux-gnu s390x-linux-gnu s390x s390x
core_tests 4
