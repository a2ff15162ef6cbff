#!/usr/bin/env python3
"""Builds the fuzzers and runs them.

    run.py --build FOLDER [--seconds N] [TARGET...]

Each target tries its corpus, and then looks for new inputs for N seconds; as many targets run at a time as there are processors. New inputs
are kept below FOLDER/corpus and used by the next run. An input that breaks a promise is kept in FOLDER/found, and the command that runs it
again is printed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import platform
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGETS = re.findall(r'^    \("(\w+)", \w+::check\)', (HERE / "src/main.rs").read_text(), re.M)
#: What libFuzzer needs of the compiler: counters for each edge, and what is compared with what. Stable Rust has both.
COVERAGE = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
COVERAGE += " -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
#: The longest input, in bytes.
MAX_LENGTH = 4096


def build(folder):
    """With --target the flags are only for the program, and not for what runs during the build."""
    version = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    host = re.search(r"^host: (\S+)", version, re.M)[1]
    command = [os.environ.get("CARGO", "cargo"), "build", "--quiet", "--release", "--locked", "--target", host]
    environment = {**os.environ, "RUSTFLAGS": COVERAGE, "CARGO_TARGET_DIR": str(folder / "target")}
    subprocess.run(command, check=True, cwd=HERE, env=environment)
    return folder / "target" / host / "release" / "agentjob-fuzz"


def run(program, target, folder, seconds):
    """Prints one line; returns how many inputs were tried, or None if one broke a promise."""
    kept, found = folder / "corpus" / target, folder / "found"
    kept.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    arguments = [f"-max_len={MAX_LENGTH}", "-timeout=60", "-rss_limit_mb=4096", f"-artifact_prefix={found}/{target}-", "-print_final_stats=1"]
    arguments.append(f"-max_total_time={seconds}")
    began = time.monotonic()
    environment = {**os.environ, "AGENTJOB_FUZZ": target, "RUST_BACKTRACE": "0"}
    command = [str(program), *arguments, str(kept), str(HERE / "corpus" / target)]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace")
    tried = re.search(r"number_of_executed_units: (\d+)", process.stderr)
    coverage = re.findall(r"cov: (\d+)", process.stderr)
    edges = coverage[-1] if coverage else "?"
    print(f"{target:12} {int(tried[1]) if tried else 0:>10} inputs {edges:>6} edges {time.monotonic() - began:>6.1f} s", flush=True)
    if process.returncode == 0:
        return int(tried[1])
    print(process.stderr[-4000:])
    written = re.search(r"Test unit written to (.*)", process.stderr)
    print(f"to run the input again: AGENTJOB_FUZZ={target} {program} {written[1] if written else found}")
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("targets", nargs="*", default=TARGETS)
    options = parser.parse_args()
    if platform.system() != "Linux":
        print("SKIPPED: the fuzzers are built on Linux")
        return 0
    folder = options.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    program = build(folder)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tried = list(pool.map(lambda target: run(program, target, folder, options.seconds), options.targets or TARGETS))
    failed = tried.count(None)
    print(f"{sum(one or 0 for one in tried)} inputs")
    print(f"{len(tried) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
