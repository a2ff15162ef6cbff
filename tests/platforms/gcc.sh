#!/usr/bin/env bash
# Unpacks Debian's gcc and g++ for another processor, and prints a folder with its commands: TRIPLE-gcc, TRIPLE-g++, TRIPLE-ar.
#
#   gcc.sh TRIPLE       aarch64-linux-gnu, i686-linux-gnu, s390x-linux-gnu, …
#
# The exit status is 3 where Debian's packages cannot be fetched; the reason is printed then.
set -euo pipefail
cd "$(dirname "$0")/../.."
triple=$1
folder=$PWD/build/platforms/gcc-$triple
if [ ! -e "$folder/bin/$triple-g++" ]; then
    tests/platforms/debs.sh bookworm amd64 "$folder" "gcc-$triple" "g++-$triple"
    mkdir -p "$folder/bin"
    for command in gcc g++ ar; do
        # The assembler and the linker have libraries of their own.
        printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" %s "$@"\n' "$folder/usr/lib/x86_64-linux-gnu" "$folder/usr/bin/$triple-$command" \
            "$([ "$command" = ar ] || echo "--sysroot=$folder")" >"$folder/bin/$triple-$command"
        chmod +x "$folder/bin/$triple-$command"
    done
fi
echo "$folder/bin"
