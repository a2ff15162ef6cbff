#!/usr/bin/env python3
"""Lists the `unsafe` blocks of ffi-c that no C or C++ program of tests/c reaches.

    check.py --build FOLDER --emulator PROGRAM

Compiles the library without optimization, which merges and moves code, and with a flag for each piece of code between two branches, and
runs the programs with it. A block is reached if each of its functions is: the one that it stands in, and the closures in it. At least one
of them must be reached by a program that passes more than NULL. The same programs run under valgrind and the sanitizers (`make
test-memory`), which see what the code of a block accesses. What an `unsafe impl` of Send or Sync promises is for
tests/c/many_threads_share_one_client.c, under ThreadSanitizer.
"""

import argparse
import bisect
import hashlib
import os
import pathlib
import platform
import re
import shlex
import shutil
import struct
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
#: Stable Rust has LLVM's flags, as the fuzzers use its counters.
FLAGS = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 -Cllvm-args=-sanitizer-coverage-inline-bool-flag"
FLAGS += " -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-prune-blocks=0 -Ccodegen-units=1"
SOURCES, PROGRAMS = TOP / "ffi-c/src", TOP / "tests/c"
#: It measures the stack that the optimized library takes.
OPTIMIZED = "every_call_fits_in_a_64_kib_stack"
NULLS = ["every_function_checks_for_null", "freeing_null_does_nothing"]


def build(folder):
    """The library with flags. With --target they are only in it, and not in what runs during the build."""
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search(r"^host: (\S+)", version, re.M)[1]
    source = HERE / "reached.c"
    # cargo links it again when it has another name.
    writer = folder / f"reached-{hashlib.sha256(source.read_bytes()).hexdigest()[:16]}.o"
    compiler = [*shlex.split(os.environ.get("CC", "cc")), "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-c"]
    subprocess.run([*compiler, str(source), "-o", str(writer)], check=True)
    environment = {**os.environ, "RUSTFLAGS": f"{FLAGS} -Clink-arg={writer}", "CARGO_TARGET_DIR": str(folder / "target")}
    environment.update({"CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_DEBUG": "line-tables-only"})
    environment.pop("CARGO_ENCODED_RUSTFLAGS", None)
    command = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--package", "agentjob-ffi-c", "--target", host]
    subprocess.run(command, check=True, cwd=TOP, env=environment)
    return folder / "target" / host / "debug" / "libagentjob.so"


def run_programs(names, library, folder, emulator):
    """Returns the addresses that they reached."""
    reached = folder / "reached"
    shutil.rmtree(reached, ignore_errors=True)
    reached.mkdir()
    settings = {"LIBDIR": library.parent, "EMULATOR": emulator, "OUT": folder / "programs", "KINDS": "shared", "ONLY": " ".join(names)}
    make = [os.environ.get("MAKE", "make"), "--silent", "-C", str(PROGRAMS), *(f"{name}={value}" for name, value in settings.items())]
    subprocess.run([*make, "-j", str(os.cpu_count()), "build"], check=True)
    if subprocess.run([*make, "check-programs"], env={**os.environ, "REACHED": str(reached)}).returncode != 0:
        sys.exit("a program failed, so what it reaches is not known")
    return {int(line, 16) for file in reached.iterdir() for line in file.read_text().split()}


def blocks(file):
    """(first line, last line) of each block outside of the tests."""
    lines = re.split(r"^#\[cfg\(test\)\]\nmod ", file.read_text("utf-8"), flags=re.M)[0].splitlines()
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


def pieces_of(library):
    """The addresses of all pieces of code that have a flag, and of those at the beginning of a function; both sorted."""
    # The compiler wrote pairs of numbers into a section: the address, which is relocated when the library is loaded, and what it is.
    relocations = subprocess.run(["readelf", "--relocs", "--wide", library], check=True, capture_output=True, text=True).stdout
    sections = subprocess.run(["readelf", "--sections", "--wide", library], check=True, capture_output=True, text=True).stdout
    start, offset, size = (int(number, 16) for number in re.search(r" __sancov_pcs\s+\S+\s+(\w+)\s+(\w+)\s+(\w+)", sections).groups())
    table = library.read_bytes()[offset : offset + size]
    # Those of exported functions are given by the function's name, whose value stands beside it.
    found = re.findall(r"^(\w+)\s+\w+\s+R_\w+_(?:RELATIVE\s+(\w+)|(?:64|ABS64)\s+(\w+) \S+ \+ 0)$", relocations, re.M)
    addresses = {int(at, 16) - start: int(value or exported, 16) for at, value, exported in found}
    # What the linker left out has no address.
    pairs = enumerate(struct.iter_unpack("<QQ", table))
    entries = [(addresses[number * 16], is_function) for number, (_, is_function) in pairs if number * 16 in addresses]
    return sorted(address for address, _ in entries), sorted(address for address, is_function in entries if is_function)


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


def last_before(starts, address):
    at = bisect.bisect_right(starts, address)
    return starts[at - 1] if at else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--emulator", required=True)
    options = parser.parse_args()
    if platform.system() != "Linux" or not (shutil.which("objdump") and shutil.which("readelf")):
        print("SKIPPED: objdump and readelf (apt-get install binutils) say which code belongs to a block")
        return 0
    folder = options.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    library = build(folder)
    others = sorted(file.stem for file in PROGRAMS.glob("*.c*") if file.stem not in [OPTIMIZED, *NULLS])
    reached = run_programs(others, library, folder, options.emulator)
    with_nulls = reached | run_programs(NULLS, library, folder, options.emulator)
    pieces, functions = pieces_of(library)
    lines = lines_of(library)
    total = missing = 0
    for file in sorted(SOURCES.rglob("*.rs")):
        name = file.relative_to(SOURCES).as_posix()
        text = file.read_text("utf-8").splitlines()
        for first, last in blocks(file):
            own = {}
            for line, address in lines.get(name, []):
                if first <= line <= last:
                    own.setdefault(last_before(functions, address), set()).add(last_before(pieces, address))
            total += 1
            if not set().union(*own.values()) & reached or not all(group & with_nulls for group in own.values()):
                missing += 1
                print(f"no program reaches ffi-c/src/{name}:{first}: {text[first - 1].strip()}")
    print(f"{total - missing} of {total} unsafe blocks are reached by a program of tests/c; {missing} are not")
    return 1 if missing or not total else 0


if __name__ == "__main__":
    sys.exit(main())
