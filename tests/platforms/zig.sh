#!/usr/bin/env bash
# zig as a C compiler for another platform: prints a folder with the commands cc, c++ and ar.
#
#   zig.sh TARGET       as zig says it: aarch64-macos, x86_64-linux-musl, …
#
# It is the zig that links the wheels (tests/packaging/requirements.txt). The exit status is 3 where it cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=$1
zig=$PWD/build/platforms/zig
if [ ! -x "$zig/ziglang/zig" ]; then
    "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-deps --target "$zig" \
        "$(grep '^ziglang==' tests/packaging/requirements.txt)" >&2 || {
        echo "zig cannot be fetched from the Python package index"
        exit 3
    }
fi
folder=$zig/$target
mkdir -p "$folder"
for command in cc c++; do
    # Rust's name for the platform, which the crate cc adds, is not zig's.
    printf '#!/usr/bin/env bash\nfor word in "$@"; do case $word in --target=*) ;; *) words+=("$word") ;; esac; done\nexec "%s" %s -target %s "${words[@]}"\n' \
        "$zig/ziglang/zig" "$command" "$target" >"$folder/$command"
done
printf '#!/bin/sh\nexec "%s" ar "$@"\n' "$zig/ziglang/zig" >"$folder/ar"
chmod +x "$folder"/{cc,c++,ar}
echo "$folder"
