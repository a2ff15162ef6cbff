"""Makes the packages for Debian and what comes from it: libagentjob0, libagentjob-dev, and agentjob, the command line.

    deb.py --installed FOLDER --wheel FILE --man FOLDER --out FOLDER

The first FOLDER is what `make -C ffi-c install PREFIX=/usr LIBDIR=lib/TRIPLET DESTDIR=FOLDER` has installed, FILE the wheel `cp39-abi3` for
this processor, the second FOLDER what `make man` wrote. The same input gives the same bytes; SOURCE_DATE_EPOCH is the time in the packages.
"""

import argparse
import gzip
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKSPACE = (ROOT / "Cargo.toml").read_text("utf-8")
VERSION = re.search(r'^version = "(.*)"', WORKSPACE, re.M)[1]
REPOSITORY = re.search(r'^repository = "(.*)"', WORKSPACE, re.M)[1]
ABI = re.search(r"^#define AGENTJOB_ABI_VERSION (\d+)", (ROOT / "include/agentjob.h").read_text("utf-8"), re.M)[1]
LIBRARY, DEVELOPMENT, COMMANDS = f"libagentjob{ABI}", "libagentjob-dev", "agentjob"
MAINTAINER = os.environ.get("DEBEMAIL", "agentjob <agentjob@localhost>")

#: Name, section and what it is: a line, then a paragraph.
ABOUT = {
    LIBRARY: ("libs", "send a message to an agent job and follow the job (library)", "The shared library, for C and C++ programs."),
    DEVELOPMENT: (
        "libdevel",
        "send a message to an agent job and follow the job (development)",
        "The headers for C and C++, the static library, files for pkg-config and CMake,\n and agentjob-emulator, the service on this machine, for tests.",
    ),
    COMMANDS: (
        "utils",
        "send a message to an agent job and follow the job (command line)",
        "The command agentjob, its manual pages, and the Python package that it is made of.",
    ),
}


#: What Python has compiled is in no package.
PRERM = """#!/bin/sh
for package in agentjob agentjob_pytest; do
    folder=/usr/lib/python3/dist-packages/$package
    if [ -d "$folder" ]; then find "$folder" -depth -name __pycache__ -exec rm -rf {} + || exit 1; fi
done
"""


def output(*command, **options):
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    return subprocess.run([*map(str, command)], check=True, stdout=subprocess.PIPE, encoding="utf-8", env=environment, **options).stdout


def needs(binary):
    """The packages that a library or program needs at run time, as dpkg-shlibdeps finds them."""
    with tempfile.TemporaryDirectory() as folder:
        control = pathlib.Path(folder, "debian", "control")
        control.parent.mkdir()
        control.write_text("Source: agentjob\n\nPackage: agentjob\nArchitecture: any\n")
        found = output("dpkg-shlibdeps", "-O", f"-e{binary}", cwd=folder)
    return found.strip().partition("=")[2]


def move(names, source, target):
    """Moves what the patterns name from one tree into another, to the same place."""
    for pattern in names:
        found = sorted(source.glob(pattern))
        assert found, f"nothing installed is {pattern}"
        for path in found:
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, place)


def unpack(wheel, tree):
    """The Python package where Debian's python3 looks for it, and the command."""
    packages = tree / "usr/lib/python3/dist-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    command = tree / "usr/bin/agentjob"
    command.parent.mkdir(parents=True)
    command.write_text("#!/usr/bin/python3\nimport sys\n\nfrom agentjob.__main__ import console\n\nsys.exit(console())\n")
    command.chmod(0o755)


def manual(pages, tree):
    """The manual pages of the command, as `man` finds them."""
    folder = tree / "usr/share/man/man1"
    folder.mkdir(parents=True)
    for page in sorted(pages.glob("*.1")):
        (folder / f"{page.name}.gz").write_bytes(gzip.compress(page.read_bytes(), mtime=0))


def documents(name, tree, notices):
    folder = tree / "usr/share/doc" / name
    folder.mkdir(parents=True, exist_ok=True)
    licences = [(ROOT / licence).read_text("utf-8") for licence in ("LICENSE-MIT", "LICENSE-APACHE", notices)]
    text = "agentjob is licensed under MIT or Apache-2.0, at your choice.\n\n" + ("\n" + "=" * 80 + "\n").join(licences)
    (folder / "copyright").write_text(text, "utf-8")
    (folder / "changelog.gz").write_bytes(gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0))


def build(name, tree, depends, out, extra=None):
    """Writes the package's control files, with the modes that Debian wants everywhere, and packs it."""
    section, line, paragraph = ABOUT[name]
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    for path in files:
        path.chmod(0o755 if path.parent.name == "bin" else 0o644)
    size = sum((path.stat().st_size + 1023) // 1024 for path in files)
    meta = tree / "DEBIAN"
    meta.mkdir()
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files]
    (meta / "md5sums").write_text("".join(sums), "utf-8")
    for file, text in (extra or {}).items():
        (meta / file).write_text(text, "utf-8")
        (meta / file).chmod(0o755 if text.startswith("#!") else 0o644)
    (meta / "control").write_text(
        f"Package: {name}\nSource: agentjob\nVersion: {VERSION}\nArchitecture: {output('dpkg', '--print-architecture').strip()}\n"
        f"Maintainer: {MAINTAINER}\nInstalled-Size: {size}\nDepends: {depends}\nSection: {section}\nPriority: optional\n"
        f"{'Multi-Arch: same' + chr(10) if name == LIBRARY else ''}Homepage: {REPOSITORY}\nDescription: {line}\n {paragraph}\n",
        "utf-8",
    )
    for path in [tree, *tree.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    architecture = output("dpkg", "--print-architecture").strip()
    output("dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, out / f"{name}_{VERSION}_{architecture}.deb")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option in ("--installed", "--wheel", "--man", "--out"):
        parser.add_argument(option, type=pathlib.Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        rest, library, commands = (pathlib.Path(folder, name) for name in ("rest", "library", "commands"))
        shutil.copytree(options.installed, rest, symlinks=True)
        shutil.rmtree(rest / "usr/share/doc/agentjob")
        move(["usr/lib/*/libagentjob.so.*"], rest, library)
        (shared,) = (path for path in library.glob("usr/lib/*/libagentjob.so.*") if not path.is_symlink())
        unpack(options.wheel, commands)
        manual(options.man, commands)
        (module,) = commands.glob("usr/lib/python3/dist-packages/agentjob/_native*.so")
        library_needs = needs(shared)
        documents(LIBRARY, library, "ffi-c/THIRD-PARTY-NOTICES")
        documents(DEVELOPMENT, rest, "ffi-c/THIRD-PARTY-NOTICES")
        documents(COMMANDS, commands, "python/THIRD-PARTY-NOTICES")
        shlibs = {"shlibs": f"libagentjob {ABI} {LIBRARY} (>= {VERSION})\n", "triggers": "activate-noawait ldconfig\n"}
        build(LIBRARY, library, library_needs, options.out, shlibs)
        build(DEVELOPMENT, rest, f"{LIBRARY} (= {VERSION}), libc6-dev, {library_needs}", options.out)
        build(COMMANDS, commands, f"python3 (>= 3.9), {needs(module)}", options.out, {"prerm": PRERM})


if __name__ == "__main__":
    main()
