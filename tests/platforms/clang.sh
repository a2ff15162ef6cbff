#!/usr/bin/env bash
# Prints a folder with the commands clang and clang++: this machine's, or Debian's packages, which are unpacked and not installed.
#
# The exit status is 3 where they cannot be fetched; the reason is printed then.
set -euo pipefail
cd "$(dirname "$0")/../.."
if command -v clang++ >/dev/null; then
    dirname "$(command -v clang++)"
    exit
fi
folder=$PWD/build/platforms/clang
tests/platforms/debs.sh bookworm amd64 "$folder" clang
mkdir -p "$folder/bin"
for command in clang clang++; do
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s" exec "%s" "$@"\n' "$folder/usr/lib/x86_64-linux-gnu:$folder/usr/lib/llvm-14/lib" \
        "$folder/usr/lib/llvm-14/bin/$command" >"$folder/bin/$command"
    chmod +x "$folder/bin/$command"
done
echo "$folder/bin"
