"""Collects the licences of the crates that ship.

    notices.py                 writes ffi-c/THIRD-PARTY-NOTICES (the library and the emulator) and python/THIRD-PARTY-NOTICES (the wheel)
    notices.py --check FILE... fails if they aren't those of the crates that are linked today, or if a library or program names a crate
                               that ffi-c/THIRD-PARTY-NOTICES lacks
"""

import pathlib
import re
import sys

from linked import IN_STD, PLATFORMS, ROOT, linked, named_in, packages

#: Which crates of ours each file is for.
FILES = {
    "ffi-c/THIRD-PARTY-NOTICES": ["agentjob-ffi-c", "agentjob-emulator"],
    "python/THIRD-PARTY-NOTICES": ["agentjob-python"],
}
HEAD = pathlib.Path(__file__).with_name("notices-head.txt")
PREFIXES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def third_parties(crates, known):
    """The packages of others that are linked into these crates on any platform, by name."""
    found = {part for crate in crates for platform in PLATFORMS for part in linked(crate, platform)}
    return [known[part] for part in sorted(found) if known[part]["source"]]


def texts(package):
    """The texts that must go with the package: MIT's alone if it may be used under MIT, otherwise all of them."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.upper().startswith(PREFIXES))
    if not files:
        sys.exit(f"{package['name']} {package['version']} has no licence file")
    choices = re.split(" OR |/", package["license"])
    if "MIT" in choices and " AND " not in package["license"]:
        files = [path for path in files if "MIT" in path.name.upper()] or files
    return [path.read_text(encoding="utf-8").strip() for path in files]


def notices(packages):
    parts = [HEAD.read_text(encoding="utf-8")]
    for package in packages:
        heading = f"{package['name']} {package['version']} ({package['license']})"
        parts.append("\n\n".join(["=" * 80 + f"\n{heading}\n{package['repository'] or ''}".rstrip(), *texts(package)]) + "\n")
    return "\n".join(parts)


def check(made, binaries):
    for name, text in made.items():
        if not (ROOT / name).exists() or (ROOT / name).read_text(encoding="utf-8") != text:
            sys.exit(f"{name} does not match the linked crates: run python3 ffi-c/packaging/notices.py")
    noticed = dict(re.findall(r"^=+\n(\S+) (\d\S*) \(", made["ffi-c/THIRD-PARTY-NOTICES"], re.M))
    for binary in binaries:
        crates, in_std = named_in(pathlib.Path(binary).read_bytes())
        missing = sorted(crates - set(noticed.items())) + sorted(in_std - IN_STD)
        if missing or not crates:
            sys.exit(f"{binary} contains crates that THIRD-PARTY-NOTICES lacks: {missing}" if missing else f"{binary} names no crate")


if __name__ == "__main__":
    known = packages(PLATFORMS)
    made = {name: notices(third_parties(crates, known)) for name, crates in FILES.items()}
    if "--check" in sys.argv[1:]:
        check(made, sys.argv[2:])
    else:
        for name, text in made.items():
            (ROOT / name).write_text(text, encoding="utf-8")
