#!/usr/bin/env bash
# Builds a CPython for musl from Debian's sources, with zig, and prints the folder in which it is installed. It lacks the modules that need
# libraries beside the C library, such as ssl, zlib, sqlite3 and ctypes.
#
#   python-musl.sh SYSTEM       a folder with Debian's packages, musl and make among them: it is built in there, and runs in there
#
# The exit status is 3 where Debian's packages cannot be fetched; the reason is printed then.
set -euo pipefail
cd "$(dirname "$0")/../.."
system=$1
folder=$PWD/build/platforms/python-musl
if [ ! -e "$folder/ready" ]; then
    tests/platforms/debs.sh --source bookworm amd64 "$folder/source" python3.11
    zig=$(tests/platforms/zig.sh x86_64-linux-musl)
    ln -sf mawk "$system/usr/bin/awk"
    rm -rf "$folder"/{built,installed}
    mkdir -p "$folder/built"
    # zig's musl has functions that are newer than Debian's.
    (cd "$folder/built" && ../../../../tests/platforms/enter.sh "$system" native env ZIG_GLOBAL_CACHE_DIR="$folder/zig" \
        ac_cv_func_preadv=no ac_cv_func_preadv2=no ac_cv_func_pwritev=no ac_cv_func_pwritev2=no \
        bash -c '"$0"/configure -q --prefix="$1" --without-ensurepip --disable-test-modules CC="$2/cc -dynamic" AR="$2/ar" RANLIB="$2/zig ranlib" \
            CFLAGS="-O1 -fno-sanitize=all -w" && make -s -j "$(nproc)" && make -s install' \
        "$(echo "$folder"/source/Python-*)" "$folder/installed" "$zig") >"$folder/log" 2>&1 || {
        tail "$folder/log"
        exit 1
    }
    touch "$folder/ready"
fi
echo "$folder/installed"
