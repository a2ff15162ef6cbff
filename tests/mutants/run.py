#!/usr/bin/env python3
"""Makes one mistake after the other in the code that decides (a mutant), and runs the tests of core: one of them must fail.

    run.py --build FOLDER [--jobs N] [--continue] [AREA...]

A mutant that the tests beside the code let live is tried again with those against the emulator, and then with all tests of core. What
lives then is a survivor: survivors.txt has each with its reason, and any other is a failure, as is an area of which less than 95 % is
killed. One with which the tests hang counts as killed, though a busy machine may have delayed them: how many these are is printed, and
FOLDER/AREA/timeout.txt names them. An area takes minutes to hours; --continue continues a run that was ended. FOLDER/AREA/mutants.out has
what each test printed.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
HTTP = "buffers call_in_flight cause connection connections connector dial exchange interim interrupt keep_alive lookup response_body"
HTTP += " socket tls tls_failure tunnel unreadable"
#: What decides whether a message arrived, whether it is sent again, when a wait ends, and what a batch's journal says.
AREAS = {
    "delivery": ["delivery.rs", "call/response.rs", "call/control.rs", "call/request_loop.rs"],
    "retry": ["call/retry.rs", "call/retry_after.rs"],
    "wait": ["wait/**/*.rs", "call/recent_deliveries.rs"],
    "pace": ["batch/pace/**/*.rs"],
    "journal": ["batch/journal/**/*.rs"],
    "http": [f"http/{name}.rs" for name in HTTP.split()],
}
LEAST_KILLED = 0.95
#: Arguments of cargo: a mutant costs five seconds in the first stage, twenty in the second, and minutes in the last.
STAGES = ["--lib", "--test=together", "--tests"]


def cargo_mutants(area, *arguments, **options):
    files = [argument for file in AREAS[area] for argument in ("--file", f"core/src/{file}")]
    # Only core is compiled again for a mutant, and only what changed of it. Most tests wait more than they compute.
    environment = {**os.environ, "CARGO_INCREMENTAL": "1", "CARGO_PROFILE_DEV_DEBUG": "0", "RUST_TEST_THREADS": "32"}
    # The first test that fails ends the others. Rust's test harness does that only with its unstable options.
    host = subprocess.run(["rustc", "--print", "host-tuple"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    environment[f"CARGO_TARGET_{host.upper().replace('-', '_')}_RUNNER"] = "env RUSTC_BOOTSTRAP=1"
    environment.pop("CARGO_TARGET_DIR", None)
    command = ["cargo", "mutants", "--package", "agentjob-core", "--colors", "never", *files, *arguments]
    return subprocess.run(command, cwd=TOP, env=environment, **options)


def lines(file):
    return file.read_text("utf-8").splitlines() if file.exists() else []


OUTCOMES = ("caught", "timeout", "unviable")


def keep(folder):
    """Adds the outcomes of the last run of cargo-mutants, which forgets them in the next one, to those before; returns them all."""
    kept = {}
    for outcome in OUTCOMES:
        kept[outcome] = {*lines(folder / f"{outcome}.txt"), *lines(folder / "mutants.out" / f"{outcome}.txt")}
        (folder / f"{outcome}.txt").write_text("".join(f"{mutant}\n" for mutant in sorted(kept[outcome])), "utf-8")
    # It tries what hung again, but not what is in this file.
    if kept["timeout"]:
        (folder / "mutants.out" / "caught.txt").write_text("".join(f"{mutant}\n" for mutant in sorted(kept["caught"] | kept["timeout"])), "utf-8")
    return kept


def survivors(area, folder, jobs):
    """Returns the mutants that all tests let live, all that compile, and how many made the tests hang."""
    listed = set(cargo_mutants(area, "--list", check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines())
    folder.mkdir(parents=True, exist_ok=True)
    finished = folder / "finished.txt"
    for tests in STAGES:
        keep(folder)
        if tests in lines(finished):
            continue
        # A mutant hangs if its tests take five times as long as those of no mutant, and at least 20 seconds.
        stage = ["--iterate", "--no-shuffle", "--gitignore", "true", "--cap-lints", "true", "--output", str(folder), "--jobs", str(jobs)]
        stage += [f"--cargo-arg={tests}", "--", "--", "-Zunstable-options", "--fail-fast"]
        # 2: some mutants live; 3: with some the tests hung, which is noticed, too.
        status = cargo_mutants(area, *stage, stdout=sys.stderr).returncode
        if status not in (0, 2, 3):
            sys.exit(f"cargo mutants ended with status {status}")
        with finished.open("a", encoding="utf-8") as file:
            file.write(f"{tests}\n")
    kept = keep(folder)
    living = lines(folder / "mutants.out" / "missed.txt")
    tried = listed - kept["unviable"]
    if tried - kept["caught"] - kept["timeout"] != set(living):
        sys.exit(f"{area}: some mutants have no outcome; run it without --continue")
    return living, tried, len(kept["timeout"])


def without_position(mutant):
    """Its name in survivors.txt, which other changes of the file leave as it is."""
    return re.sub(r"(?<=\.rs):\d+:\d+", "", mutant)


def reasoned():
    return [line for line in lines(HERE / "survivors.txt") if line and not line.startswith("#")]


def judge(area, living, tried, hung):
    """Prints one line for the area, and one for each survivor without a reason; returns whether all is as it must be."""
    new = collections.Counter(map(without_position, living)) - collections.Counter(reasoned())
    killed = 1 - len(living) / max(1, len(tried))
    print(f"{area:10} {len(tried):>5} mutants {len(living):>4} survive {killed:>6.1%} killed, {hung} of them by hanging", flush=True)
    for mutant in new.elements():
        print(f"           survives without a reason: {mutant}")
    names = set(map(without_position, tried))
    listed = collections.Counter(mutant for mutant in reasoned() if mutant in names)
    for mutant in (listed - collections.Counter(map(without_position, living))).elements():
        print(f"           no longer survives, so take it out of survivors.txt unless that was chance: {mutant}")
    return killed >= LEAST_KILLED and not new


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--continue", action="store_true", dest="resume")
    parser.add_argument("areas", nargs="*", choices=[*AREAS, []], default=[])
    options = parser.parse_args()
    folder, areas = options.build.resolve(), options.areas or list(AREAS)
    missing = [pattern for area in areas for pattern in AREAS[area] if not any((TOP / "core/src").glob(pattern))]
    if missing:
        sys.exit(f"no file of core/src is called {', '.join(missing)}: change AREAS")
    good, all_tried = [], set()
    for area in areas:
        if not options.resume:
            shutil.rmtree(folder / area, ignore_errors=True)
        living, tried, hung = survivors(area, folder / area, options.jobs)
        good.append(judge(area, living, tried, hung))
        all_tried.update(map(without_position, tried))
    gone = sorted(set(reasoned()) - all_tried) if areas == list(AREAS) else []
    for mutant in gone:
        print(f"there is no such mutant any more, so take it out of survivors.txt: {mutant}")
    return 0 if all(good) and not gone else 1


if __name__ == "__main__":
    sys.exit(main())
