#!/usr/bin/env python3
"""Compares what does not vary from run to run with ceilings.json, and fails when a figure is over its ceiling: `make bench-check`.

    check.py --emulator PROGRAM --library FILE --wheel FILE --python PROGRAM --build FOLDER [--bless]

Instructions vary a little with the processor (the C library picks its memcpy by it) and the compiler, so their ceilings
have 5 % of room. Python's own part varies more from build to build and has 15 %; all others have 3 %. `--bless` lowers the
ceilings to today's figures. It raises none: do that by hand, and say in the commit why.
"""

import argparse
import json
import pathlib
import subprocess
import sys

from counts import Counting

HERE = pathlib.Path(__file__).parent
CEILINGS = HERE / "ceilings.json"
ROOM, ROOM_OF_INSTRUCTIONS, ROOM_OF_PYTHON = 1.03, 1.05, 1.15
#: The ceilings of `make sizes`, for which docs/decisions/sizes-have-ceilings.md has the reason.
PROMISES = {"library: bytes": 2_700_000, "wheel: bytes": 1_900_000}
MODULES = "import sys\nbefore = set(sys.modules)\nimport agentjob\nprint(len(set(sys.modules) - before))"
FACES = {"core": "Rust core", "c": "C ABI", "python": "Python class"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("emulator", "library", "wheel", "python", "build"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--bless", action="store_true")
    options = parser.parse_args()
    ceilings = json.loads(CEILINGS.read_text()) if CEILINGS.exists() else {"figures": {}}
    version = python_version(options.python)
    found = figures(options, None if options.bless else ceilings.get("python"), version)
    if options.bless:
        bless(found, version)
    else:
        sys.exit(compare(found, ceilings["figures"]))


def figures(options, known_version, version):
    """{name: (figure or None, why there is none)}"""
    build = options.build.absolute()
    entrants = {
        "core": [str(build / "check/core")],
        "c": [str(build / "c/agentjob")],
        # Not resolved: the link's own place is what makes it a virtual environment.
        "python": [str(options.python.absolute()), str(HERE / "entrant.py"), "agentjob"],
    }
    counting = Counting(entrants, options.emulator, build / "c/count_allocations.so")
    found = {}
    for face, label in FACES.items():
        found[f"{label}: system calls a message"] = counting.system_calls(face), "strace is not installed, or may not trace"
        found[f"{label}: allocations a message"] = counting.allocations(face), "the counter needs glibc"
        name = f"{label}: instructions a message"
        if face == "python" and known_version not in (None, version):
            found[name] = None, f"the ceiling is for Python {known_version}, this is {version}"
        else:
            found[name] = counting.instructions(face), "valgrind is not installed"
    found["library: bytes"] = options.library.stat().st_size, ""
    found["wheel: bytes"] = options.wheel.stat().st_size, ""
    found["import agentjob: modules"] = int(output(options.python, MODULES)), ""
    return found


def compare(found, ceilings):
    """Prints all figures; returns the exit status."""
    width = max(map(len, found)) + 2
    print(f"{'':{width}}{'today':>14}{'at most':>14}")
    over = 0
    for name, (figure, why) in found.items():
        if figure is None:
            print(f"{name:{width}}SKIPPED: {why}")
        elif name not in ceilings:
            print(f"{name:{width}}{figure:14,.2f}{'':14}  has no ceiling: run with --bless")
            over += 1
        else:
            at_most = ceilings[name]["at_most"]
            over += figure > at_most
            print(f"{name:{width}}{figure:14,.2f}{at_most:14,.2f}{'  A STEP BACK' if figure > at_most else ''}")
    return f"{over} of {len(found)} figures are over their ceilings" if over else 0


def bless(found, version):
    known = json.loads(CEILINGS.read_text())["figures"] if CEILINGS.exists() else {}
    for name, (figure, why) in found.items():
        if figure is None:
            print(f"SKIPPED: {name}: {why}; its ceiling stays")
            continue
        today = {"today": round(figure, 2), "at_most": PROMISES.get(name, round(figure * room(name), 2))}
        known[name] = min(today, known.get(name, today), key=lambda entry: entry["at_most"])
    CEILINGS.write_text(json.dumps({"python": version, "figures": known}, indent=1) + "\n")
    print(CEILINGS.read_text())


def room(name):
    if name.startswith("Python") and "system calls" not in name:
        return ROOM_OF_PYTHON
    return ROOM_OF_INSTRUCTIONS if "instructions" in name else ROOM


def python_version(python):
    return output(python, "import sys; print('%d.%d' % sys.version_info[:2])")


def output(python, program):
    return subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
