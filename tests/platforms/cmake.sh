#!/usr/bin/env bash
# CMake: prints its command, that of this machine or, if there is none, one from PyPI in a folder of its own.
#
# The exit status is 3 where it cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")/../.."
if command -v cmake; then exit; fi
folder=$PWD/build/platforms/cmake
if [ ! -x "$folder/bin/cmake" ]; then
    { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check cmake==4.2.0; } >&2 || {
        echo "CMake cannot be fetched from the Python package index"
        exit 3
    }
fi
echo "$folder/bin/cmake"
