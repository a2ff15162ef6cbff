#!/usr/bin/env python3
"""Lists the `unsafe` blocks of ffi-c that no C or C++ program of tests/c reaches.

    check.py --build FOLDER --emulator PROGRAM

Compiles the library without optimization, which merges and moves code, and with a counter for each piece of code between two branches, and
runs the programs with it. A block is reached if one of its lines is. The same programs run under valgrind and the sanitizers
(`make test-memory`), so what a block promises is tested there.
"""

import argparse
import bisect
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
#: Stable Rust has LLVM's counters, as the fuzzers use them.
COUNTERS = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
COUNTERS += " -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-prune-blocks=0 -Ccodegen-units=1"
PROGRAMS = TOP / "tests/c"
#: It measures the stack that the optimized library takes.
OPTIMIZED = "every_call_fits_in_a_64_kib_stack"
SOURCES = TOP / "ffi-c/src"


def build(folder):
    """The library with counters. With --target the flags are only for it, and not for what runs during the build."""
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search(r"^host: (\S+)", version, re.M)[1]
    writer = folder / "reached.o"
    compiler = [os.environ.get("CC", "cc"), "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c"]
    subprocess.run([*compiler, str(HERE / "reached.c"), "-o", str(writer)], check=True)
    flags = {"RUSTFLAGS": f"{COUNTERS} -Clink-arg={writer}", "CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_TARGET_DIR": str(folder / "target")}
    command = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--package", "agentjob-ffi-c", "--target", host]
    subprocess.run(command, check=True, cwd=TOP, env={**os.environ, **flags})
    return folder / "target" / host / "debug" / "libagentjob.so"


def run_programs(library, folder, emulator):
    """Runs them all; returns the addresses that they reached."""
    reached = folder / "reached"
    shutil.rmtree(reached, ignore_errors=True)
    reached.mkdir()
    settings = {"LIBDIR": library.parent, "EMULATOR": emulator, "OUT": folder / "programs", "KINDS": "shared"}
    settings["ONLY"] = " ".join(sorted(file.stem for file in PROGRAMS.glob("*.c*") if file.stem != OPTIMIZED))
    arguments = [f"{name}={value}" for name, value in settings.items()]
    make = [os.environ.get("MAKE", "make"), "--silent", "-C", str(PROGRAMS), *arguments]
    subprocess.run([*make, "-j", str(os.cpu_count()), "build"], check=True)
    subprocess.run([*make, "check-programs"], check=True, env={**os.environ, "REACHED": str(reached)})
    return {int(line, 16) for file in reached.iterdir() for line in file.read_text().split()}


def blocks(file):
    """(first line, last line) of each block outside of the tests."""
    lines = file.read_text("utf-8").split("#[cfg(test)]")[0].splitlines()
    for first, line in enumerate(lines, 1):
        for match in re.finditer(r"\bunsafe \{", line.split("//")[0]):
            depth, last, rest = 0, first, line[match.end() - 1 :]
            while True:
                depth += rest.count("{") - rest.count("}")
                if depth <= 0:
                    break
                last += 1
                rest = lines[last - 1]
            yield first, last


def counted(library):
    """The addresses of the code that has a counter, sorted."""
    # The compiler wrote them, each with a flag, into a section that is relocated when the library is loaded.
    relocations = subprocess.run(["readelf", "--relocs", "--wide", library], check=True, capture_output=True, text=True).stdout
    sections = subprocess.run(["readelf", "--sections", "--wide", library], check=True, capture_output=True, text=True).stdout
    start, size = (int(number, 16) for number in re.search(r" __sancov_pcs\s+\S+\s+(\w+)\s+\w+\s+(\w+)", sections).groups())
    found = re.findall(r"^(\w+)\s+\w+\s+R_\w+_RELATIVE\s+(\w+)$", relocations, re.M)
    return sorted(int(value, 16) for at, value in found if start <= int(at, 16) < start + size)


def lines_of(library):
    """{file: [(line, address)]} of the sources here."""
    table = subprocess.run(["objdump", "--dwarf=decodedline", "--wide", library], check=True, capture_output=True, text=True).stdout
    found, file = {}, None
    for row in table.splitlines():
        if heading := re.match(r"(\S.*?):(\[\+\+\])?$", row):
            file = heading[1].partition("ffi-c/src/")[2]
        elif file and (entry := re.match(r"\S+\s+(\d+)\s+(0x\w+)", row)):
            found.setdefault(file, []).append((int(entry[1]), int(entry[2], 16)))
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--emulator", required=True)
    options = parser.parse_args()
    if platform.system() != "Linux":
        print("SKIPPED: the library with counters is read with the tools of Linux")
        return 0
    folder = options.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    library = build(folder)
    reached = run_programs(library, folder, options.emulator)
    starts, lines = counted(library), lines_of(library)
    total = missing = 0
    for file in sorted(SOURCES.rglob("*.rs")):
        name = file.relative_to(SOURCES).as_posix()
        text = file.read_text("utf-8").splitlines()
        for first, last in blocks(file):
            addresses = [address for line, address in lines.get(name, []) if first <= line <= last]
            pieces = {starts[at - 1] for at in (bisect.bisect_right(starts, address) for address in addresses) if at}
            total += 1
            if not pieces & reached:
                missing += 1
                print(f"no program reaches ffi-c/src/{name}:{first}: {text[first - 1].strip()}")
    print(f"{total - missing} of {total} unsafe blocks are reached by a program of tests/c; {missing} are not")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
