#!/bin/sh
# `make check-packages`: check_conan.sh FOLDER makes the Conan package, shared and static, and Conan builds and runs the program in its
# test_package with each. If check_packages.sh made a bare Debian in the folder, a C program is built from the package there, too.
set -eu
packages=$1
here=$(cd "$(dirname "$0")" && pwd)
recipe=$here/../../ffi-c/packaging/conan
export CONAN_HOME="$packages/conan-home"

if [ ! -e "$packages/conan/ready" ]; then
    python3 -m venv --clear "$packages/conan"
    "$packages/conan/bin/pip" install --quiet --disable-pip-version-check conan==2.34.0 cmake ||
        { echo "SKIPPED: the Conan package: conan cannot be installed"; exit 0; }
    touch "$packages/conan/ready"
fi
PATH=$packages/conan/bin:$PATH
# try NAME COMMAND...: prints one line on success, the command's output on failure.
try() {
    name=$1
    shift
    "$@" >"$packages/conan.log" 2>&1 || { cat "$packages/conan.log"; echo "FAILED  $name" >&2; exit 1; }
    echo "ok      $name"
}

rm -rf "$CONAN_HOME" "$packages/deployed"
try "Conan finds the compiler" conan profile detect
for shared in True False; do
    try "the Conan package with shared=$shared, and a program that uses it" conan export-pkg "$recipe" -o "shared=$shared"
done
# It would hold what this machine runs.
if conan export-pkg "$recipe" -s:h arch=mips >"$packages/conan.log" 2>&1; then
    echo "FAILED  the Conan package for another processor is refused" >&2
    exit 1
fi
grep -q "this recipe builds for" "$packages/conan.log" || { cat "$packages/conan.log"; exit 1; }
echo "ok      the Conan package for another processor is refused"
rm -rf "$recipe/test_package/build" "$recipe/test_package/CMakeUserPresets.json"

[ -e "$packages/chroot/ready" ] || { echo "SKIPPED: the Conan package in a bare Debian: there is none"; exit 0; }
try "Conan deploys the package" conan install --requires="agentjob/$(conan inspect "$recipe" -f json | sed -n 's/^ *"version": "\(.*\)",*$/\1/p')" \
    --deployer=full_deploy --output-folder="$packages/deployed"
rm -rf "$packages/chroot/check" && mkdir "$packages/chroot/check"
cp "$recipe/test_package/version.c" "$packages/chroot/check"
deployed=$(dirname "$(find "$packages/deployed" -type d -name include)")
cp -R "$deployed" "$packages/chroot/check/agentjob"
try "a C program in a bare Debian with the Conan package" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$packages/chroot" sh -ec '
    cd /check && cc -Wall -Werror version.c -Iagentjob/include -Lagentjob/lib -lagentjob -o version && LD_LIBRARY_PATH=agentjob/lib ./version'
