#!/bin/sh
# `make check-packages`: check_packages.sh FOLDER installs the .deb files of the folder in a Debian that has nothing but a C compiler,
# pkg-config and python3, builds a C program there, and runs it and the command line against the packaged emulator.
set -eu
packages=$1
chroot=$packages/chroot
here=$(cd "$(dirname "$0")" && pwd)

skip() {
    echo "SKIPPED: the packages in a bare Debian: $*"
    exit 0
}

[ "$(id -u)" = 0 ] || skip "only root can make one"
command -v apt-get >/dev/null || skip "this is no Debian"
suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[ -n "$suite" ] || skip "this Debian has no name"
if ! command -v mmdebstrap >/dev/null; then
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends mmdebstrap; } >/dev/null 2>&1 || true
    command -v mmdebstrap >/dev/null || skip "mmdebstrap is not installed (apt-get install mmdebstrap)"
fi
if [ ! -e "$chroot/ready" ]; then
    rm -rf "$chroot"
    mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,pkg-config,python3 "$suite" "$chroot" || skip "mmdebstrap failed; its message is above"
    touch "$chroot/ready"
fi

rm -rf "$chroot/check"
mkdir "$chroot/check"
cp "$packages"/*.deb "$here/../../ffi-c/examples/follow_up.c" "$chroot/check"
cp "$here/in_chroot.sh" "$chroot/check"
# No variable of this machine, but the ones that a login has.
env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$chroot" sh /check/in_chroot.sh
