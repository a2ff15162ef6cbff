#!/usr/bin/env bash
# Debian's gcc for Windows: prints a folder with its commands, which begin with x86_64-w64-mingw32-.
#
# The exit status is 3 where Debian's packages cannot be fetched; the reason is printed then.
set -euo pipefail
cd "$(dirname "$0")/../.."
triple=x86_64-w64-mingw32
folder=$PWD/build/platforms/mingw
tests/platforms/debs.sh bookworm amd64 "$folder" gcc-mingw-w64-x86-64-posix g++-mingw-w64-x86-64-posix
mkdir -p "$folder/bin"
for command in gcc-posix g++-posix ar dlltool objdump strip; do
    # The assembler and the linker have libraries of their own.
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$folder/usr/lib/x86_64-linux-gnu" "$folder/usr/bin/$triple-$command" \
        >"$folder/bin/$triple-${command%-posix}"
    chmod +x "$folder/bin/$triple-${command%-posix}"
done
echo "$folder/bin"
