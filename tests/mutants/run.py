#!/usr/bin/env python3
"""Makes one mistake after the other in the code that decides (a mutant), and runs the tests of core: one of them must fail.

    run.py --build FOLDER [--jobs N] [AREA...]

A mutant that the tests beside the code let live is tried again with all tests of core. What lives then is a survivor: survivors.txt has
each with its reason, and any other is a failure, as is an area of which less than 95 % is killed. Minutes to hours for an area; a run that
was interrupted continues where it was. FOLDER/AREA has the details; remove it to begin again, as after a change of the code.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
HTTP = "call_in_flight cause connection connections dial exchange interim keep_alive tls_failure tunnel unreadable"
#: What decides whether a message arrived, whether it is sent again, when a wait ends, and what a batch's journal says.
AREAS = {
    "delivery": ["delivery.rs", "call/response.rs", "call/control.rs", "call/request_loop.rs"],
    "retry": ["call/retry.rs", "call/retry_after.rs"],
    "wait": ["wait/**/*.rs"],
    "pace": ["batch/pace/**/*.rs"],
    "journal": ["batch/journal/**/*.rs"],
    "http": [f"http/{name}.rs" for name in HTTP.split()],
}
LEAST_KILLED = 0.95
#: Arguments of cargo, and after how many seconds a mutant is taken to hang: the tests beside the code take seconds, all tests minutes.
STAGES = [("--lib", 120), ("--tests", 900)]
POSITION = re.compile(r"(?<=\.rs):\d+:\d+")


def cargo_mutants(area, *arguments, **options):
    files = [argument for file in AREAS[area] for argument in ("--file", f"core/src/{file}")]
    # Only core is compiled again for a mutant, and only what changed of it. Most tests wait more than they compute.
    environment = {**os.environ, "CARGO_INCREMENTAL": "1", "CARGO_PROFILE_DEV_DEBUG": "0", "RUST_TEST_THREADS": "16"}
    environment.pop("CARGO_TARGET_DIR", None)
    command = ["cargo", "mutants", "--package", "agentjob-core", "--colors", "never", *files, *arguments]
    return subprocess.run(command, cwd=TOP, env=environment, **options)


def lines(file):
    return file.read_text("utf-8").splitlines() if file.exists() else []


def keep_unviable(folder):
    """Notes which mutants don't compile before the next run of cargo-mutants forgets it."""
    kept = folder / "unviable.txt"
    unviable = {*lines(kept), *lines(folder / "mutants.out" / "unviable.txt")}
    kept.write_text("".join(f"{mutant}\n" for mutant in sorted(unviable)), "utf-8")
    return unviable


def survivors(area, folder, jobs):
    """Returns the mutants that all tests let live, and all that compile."""
    listed = cargo_mutants(area, "--list", check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    folder.mkdir(parents=True, exist_ok=True)
    for tests, seconds in STAGES:
        keep_unviable(folder)
        limits = ["--timeout", str(seconds), "--jobs", str(jobs), "--cap-lints", "true"]
        stage = ["--iterate", "--no-shuffle", "--output", str(folder), f"--cargo-arg={tests}", *limits]
        # 2: some mutants live; 3: with some the tests hung, which is noticed, too.
        status = cargo_mutants(area, *stage, stdout=sys.stderr).returncode
        if status not in (0, 2, 3):
            sys.exit(f"cargo mutants ended with status {status}")
    return lines(folder / "mutants.out" / "missed.txt"), set(listed) - keep_unviable(folder)


def judge(area, living, tried):
    """Prints one line for the area, and one for each survivor without a reason; returns whether all is as it must be."""
    names = {POSITION.sub("", mutant) for mutant in tried}
    known = collections.Counter(line for line in lines(HERE / "survivors.txt") if line in names)
    found = collections.Counter(POSITION.sub("", mutant) for mutant in living)
    killed = 1 - len(living) / len(tried)
    print(f"{area:10} {len(tried):>5} mutants {len(living):>4} survive {killed:>6.1%} killed", flush=True)
    for mutant in (found - known).elements():
        print(f"           survives without a reason: {mutant}")
    for mutant in (known - found).elements():
        print(f"           is killed now, so take it out of survivors.txt: {mutant}")
    return killed >= LEAST_KILLED and found == known


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []], default=[])
    options = parser.parse_args()
    folder = options.build.resolve()
    good = [judge(area, *survivors(area, folder / area, options.jobs)) for area in options.areas or AREAS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
