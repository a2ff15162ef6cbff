#!/usr/bin/env bash
# Unpacks Debian's packages, for any of its processors, and what they depend on, into a folder. Nothing is installed.
#
#   debs.sh SUITE PROCESSOR FOLDER PACKAGE...      PACKAGE may be NAME=VERSION or NAME=VERSION*
#   debs.sh --only SUITE ...                       without what they depend on
#   debs.sh --source SUITE ...                     the sources that a package is made of, as their authors publish them
#
# apt has its own lists for this in build/platforms, so the machine's sources and its packages stay as they are. The exit status is 3
# where there is no apt, or where Debian does not have a package.
set -euo pipefail
cd "$(dirname "$0")/../.."
mode=
case $1 in --only | --source)
    mode=$1
    shift
    ;;
esac
suite=$1 processor=$2 folder=$3
shift 3
complete=$folder/.unpacked-$(printf '%s\n' "$mode" "$suite" "$processor" "$@" | cksum | cut -d ' ' -f 1)
if [ -e "$complete" ]; then exit 0; fi
if ! command -v apt-get >/dev/null; then
    echo "there is no apt-get here, and what this needs are Debian's packages"
    exit 3
fi
# Debian's archive as this machine reaches it.
archive=$(apt-get indextargets --format '$(REPO_URI)' | grep -m 1 '/debian/*$' || true)
if [ -z "$archive" ]; then
    echo "apt has no archive of Debian among its sources"
    exit 3
fi

apt=$PWD/build/platforms/apt/$suite-$processor
mkdir -p "$apt"/{etc,lists,cache} "$folder"
signed="[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
echo "deb $signed $archive ${suite%-backports} main" >"$apt/sources"
[ "$mode" != --source ] || sed -i 's/^deb /deb-src /' "$apt/sources"
case $suite in *-backports) echo "deb $signed $archive $suite main" >>"$apt/sources" ;; esac
: >"$apt/status"
cat >"$apt/config" <<END
APT::Architecture "$processor";
APT::Architectures { "$processor"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Dir::Etc "$apt/etc";
Dir::Etc::sourcelist "$apt/sources";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Debug::NoLocking "true";
END
export APT_CONFIG=$apt/config
packages=$(mktemp -d "$apt/packages.XXXXXX")
trap 'rm -rf "$packages"' EXIT
mkdir "$packages/partial"
{
    apt-get -qq update
    case $mode in
        --only) (cd "$packages" && apt-get -qq download "$@") ;;
        --source) (cd "$packages" && apt-get -qq source --download-only "$@") ;;
        *) apt-get -qq -y --download-only -o "Dir::Cache::archives=$packages" install "$@" ;;
    esac
} >"$apt/log" 2>&1 || {
    echo "Debian's packages for $processor cannot be fetched: $(grep -m 1 '^E: ' "$apt/log")"
    exit 3
}
if [ "$mode" = --source ]; then
    for archive in "$packages"/*.orig.tar.*; do tar -x -C "$folder" -f "$archive"; done
else
    for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$folder"; done
fi
touch "$complete"
