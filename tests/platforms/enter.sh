#!/usr/bin/env bash
# Runs a command in a folder with another Linux: its libraries, its shell, its Python. Programs for another processor run under qemu.
#
#   enter.sh FOLDER PROCESSOR COMMAND...      PROCESSOR is qemu's name, or `native`
#
# All of it happens in namespaces of its own: the mounts and the rule that starts qemu end with the command. The clone and /tmp are where
# they are outside. A kernel before 6.7 has no such rules for a namespace; the exit status is 3 then.
set -euo pipefail
clone=$(cd "$(dirname "$0")/../.." && pwd)
folder=$1 rule=
if [ "$2" != native ]; then
    "$clone/tests/platforms/debs.sh" bookworm amd64 "$clone/build/platforms/qemu" qemu-user-static
    # Debian's rule says how to tell the processor's programs. P keeps argv[0], and F opens qemu here and now, outside of the folder.
    rule=$(sed "s|:[^:]*:[^:]*\$|:$clone/build/platforms/qemu/usr/bin/qemu-$2-static:PF|" "$clone/build/platforms/qemu/usr/lib/binfmt.d/qemu-$2.conf")
fi
shift 2
mkdir -p "$folder"/{proc,sys,dev,tmp,etc,root} "$folder$clone"
cp /etc/passwd /etc/group /etc/hosts "$folder/etc/"
# Its packages are unpacked and not installed, which would have made this.
mkdir -p "$folder/etc/ssl/certs"
cp /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/"
export folder rule clone
exec unshare -rm bash -c '
    if [ -n "$rule" ] && ! { mount -t binfmt_misc rules /proc/sys/fs/binfmt_misc && printf %s "$rule" >/proc/sys/fs/binfmt_misc/register; } 2>/dev/null; then
        echo "this kernel cannot start qemu in a namespace (Linux 6.7 can), and programs for another processor start each other"
        exit 3
    fi
    for shared in /proc /sys /dev /tmp "$clone"; do mount --rbind "$shared" "$folder$shared"; done
    at=$PWD into=$folder
    unset rule clone folder
    exec chroot "$into" /usr/bin/env -C "$at" PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root "$@"' enter "$@"
