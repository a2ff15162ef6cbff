#!/usr/bin/env python3
"""Sets up the Python peers: peers.py FOLDER AGENTJOB_WHEEL. Downloads their wheels to FOLDER/wheels, because their size is compared,
too, and installs them and agentjob in FOLDER/venv; niquests has a place of its own, FOLDER/niquests, because urllib3.future
takes urllib3's. A peer that cannot be installed is named and left out."""

import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).parent


def main():
    folder, wheel = pathlib.Path(sys.argv[1]), sys.argv[2]
    for place, requirements in ("venv", "requirements.txt"), ("niquests", "requirements-niquests.txt"):
        python = folder / place / "bin/python"
        wanted = (HERE / requirements).read_text()
        stamp = folder / f"{place}.requirements"
        if not (python.exists() and stamp.exists() and stamp.read_text() == wanted):
            venv.create(folder / place, with_pip=True, clear=True)
            peers = [line for line in wanted.splitlines() if line and not line.startswith("#")]
            if all([have(python, peer, folder / "wheels") for peer in peers]):
                stamp.write_text(wanted)
    return pip(folder / "venv/bin/python", "install", "--no-index", "--force-reinstall", wheel)


def have(python, peer, wheels):
    """Whether a peer could be downloaded and installed."""
    if pip(python, "download", "--only-binary", ":all:", "--dest", wheels, peer) == 0:
        return pip(python, "install", "--no-index", "--find-links", wheels, peer) == 0
    print(f"SKIPPED: {peer}: there is no wheel for this machine, or no way to it", file=sys.stderr)
    return False


def pip(python, command, *arguments):
    quiet = ["-m", "pip", command, "--quiet", "--disable-pip-version-check"]
    return subprocess.run([python, *quiet, *arguments]).returncode


sys.exit(main())
