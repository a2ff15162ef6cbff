#!/usr/bin/env bash
# Runs a program for Windows under Debian's wine, which is in a folder of its own. The program sees this system as its drive Z:.
#
#   wine.sh PROGRAM ARGUMENT...
#
# The exit status is 3 where wine cannot be fetched; the reason is printed then.
set -euo pipefail
clone=$(cd "$(dirname "$0")/../.." && pwd)
system=$clone/build/platforms/wine prefix=$clone/build/platforms/wine-prefix
run() {
    "$clone/tests/platforms/enter.sh" "$system" native env -u DISPLAY XDG_RUNTIME_DIR=/tmp PATH=/usr/lib/wine:/usr/bin:/bin WINEPREFIX="$prefix" WINEDEBUG=-all \
        WINEDLLOVERRIDES="mscoree,mshtml=" /usr/lib/wine/wine64 "$@"
}
if [ ! -e "$prefix/ready" ]; then
    "$clone/tests/platforms/debs.sh" trixie amd64 "$system" libc6 libc-bin bash coreutils dash findutils grep sed mawk wine wine64
    rm -rf "$prefix"
    mkdir -p "$prefix"
    # Where this package's links would lead, if it were installed.
    zlib=$system/usr/x86_64-w64-mingw32/lib/zlib1.dll
    cp "$zlib" "$system/usr/lib/x86_64-linux-gnu/wine/x86_64-windows/"
    run wineboot --init >"$prefix/log" 2>&1 || true
    cp "$zlib" "$prefix/drive_c/windows/system32/"
    # Many a user's name has a space.
    mkdir "$prefix/drive_c/temporary files"
    for name in TEMP TMP; do run reg add 'HKCU\Environment' /v "$name" /t REG_SZ /d 'C:\temporary files' /f >>"$prefix/log" 2>&1; done
    touch "$prefix/ready"
fi
run "$@"
