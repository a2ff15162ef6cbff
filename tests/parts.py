#!/usr/bin/env python3
"""Runs parts of the Makefile, then prints a table: what ran, what was skipped and how long each part took. They run one after the
other, but a part that only builds runs beside the next one.

    parts.py PART...        each PART is a target of the Makefile; `make test` and `make check` call this

When a part fails, the others still run. A test that failed is run again by itself, at most twice, when its part has ended. If it
passes then, it is reported as FLAKY; with more than FLAKY_ALLOWED such tests the run fails. build/parts.json has the results. The exit
status is 0 if every part passed.
"""

import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import threading
import time

from failures import failures
from running import end_all, run

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: The limit of one part, in seconds. No part needs nearly as long, even with nothing built: this ends a part that hangs.
LIMIT = 40 * 60
#: How a part reports what it leaves out: a missing tool, a test that cannot run here.
SKIPPED = re.compile(r"(?:^|\s)SKIPPED:? ?(.*)")
#: The parts that run one test with ONLY=…
ONLY = {"test-rust", "test-c", "test-python", "test-vectors", "test-readme"}
#: What only builds, and most of that on one core: the next part runs beside it.
BUILDS = {"sizes"}
#: How often a test that failed is run again.
AGAIN = 2
#: How many tests may fail and then pass in one run. With more, something is wrong with the code or the machine.
FLAKY_ALLOWED = 3
#: How many failed tests the end of a run lists, so that they are in its last 40 lines.
LISTED = 30
#: A part of ONLY passes only if tests ran, also when one is run again: every runner prints its total.
RAN = re.compile(r"\b[1-9]\d* passed\b")


class Part:
    def __init__(self, name):
        self.name, self.result, self.skipped = name, "not run", []
        self.failed, self.flaky, self.last_lines = [], [], []
        self.wall = self.cpu = 0.0
        self.beside = None

    def start(self, beside):
        """Runs the part on a thread, beside another one, whose CPU time includes that of this one."""
        self.beside = beside
        thread = threading.Thread(target=self.run)
        thread.start()
        return thread

    def run(self):
        print(f"\n=== {self.name}", flush=True)
        began, before = time.monotonic(), cpu()
        try:
            self.result, output = make(self.name)
            if self.result == "ok" and self.name in ONLY and not RAN.search(output):
                self.result = "FAILED"
            # Some parts report a skip twice: when it happens and in their summary.
            self.skipped = list(dict.fromkeys(found.strip() for found in SKIPPED.findall(output)))
            if self.result != "ok":
                self.failed = failures(output)
                self.last_lines = [line for line in output.splitlines() if line.strip()][-5:]
                self.run_failed_again()
        except BaseException:
            self.result = "interrupted"
            raise
        finally:
            self.wall = time.monotonic() - began
            self.cpu = 0.0 if self.beside else cpu() - before

    def run_failed_again(self):
        """Runs each test that failed by itself, unless the part is red in any case: it hung, something failed that is no test, or more
        tests failed than may be flaky."""
        hung, unnamed = self.result != "FAILED", not all(test.only for test in self.failed)
        if self.name not in ONLY or hung or unnamed or not 0 < len(self.failed) <= FLAKY_ALLOWED:
            return
        for test in list(self.failed):
            for _ in range(AGAIN):
                print(f"\n=== {self.name}, again: {test.name}", flush=True)
                result, output = make(self.name, ONLY=test.only)
                if result == "ok" and RAN.search(output):
                    self.failed.remove(test)
                    self.flaky.append(test)
                    break
        if not self.failed:
            self.result = "ok"


def make(target, **variables):
    """The result of `make TARGET` and what it printed."""
    output = []
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", target]
    result = run(command, LIMIT, output.append, {**environment(), **variables})
    return result, "".join(output)


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment():
    """This process's environment without the job server of `make -j`, since that is for one make alone, and without make's
    short flags: with -n, -t or -i every part would pass."""
    flags = os.environ.get("MAKEFLAGS", "").split(" ")
    kept = [flag for flag in flags[1:] if not flag.startswith(("--jobserver", "-j"))]
    return {**os.environ, "MAKEFLAGS": " ".join(kept)}


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def table(parts, wall):
    print()
    for part in parts:
        for what in part.skipped:
            print(f"{part.name} skipped: {what}")
    print(f"\n{'part':16}{'result':10}{'time':>8}{'CPU':>8}{'skipped':>10}{'flaky':>8}")
    for part in parts:
        skipped, flaky = len(part.skipped) or "", len(part.flaky) or ""
        used = "" if part.beside else clock(part.cpu)
        beside = f"  beside {part.beside}" if part.beside else ""
        print(f"{part.name:16}{part.result:10}{clock(part.wall):>8}{used:>8}{skipped:>10}{flaky:>8}{beside}")
    used = sum(part.cpu for part in parts)
    skipped, flaky = (sum(len(getattr(part, kind)) for part in parts) or "" for kind in ("skipped", "flaky"))
    print(f"{'total':16}{'':10}{clock(wall):>8}{clock(used):>8}{skipped:>10}{flaky:>8}")


def reasons(parts):
    """What the end of a run says about tests that failed: a line each."""
    for part in parts:
        for test in part.flaky:
            yield f"FLAKY {part.name}: {test.name}: {test.text}"
    for part in parts:
        for test in part.failed:
            yield f"FAILED {part.name}: {test.name}: {test.text}"
        if part.result != "ok" and part.last_lines and not part.failed:
            yield f"FAILED {part.name}, without the name of a test. Its last lines:"
            yield from (f"    {line}" for line in part.last_lines)


def tree():
    """The commit, and whether nothing differs from it."""
    changes = git("status", "--porcelain")
    return {"commit": git("rev-parse", "HEAD"), "clean": None if changes is None else not changes}


def run_all(parts):
    """Runs the parts, one after the other but for the builds."""
    building = []
    try:
        for part, following in zip(parts, [*parts[1:], None]):
            if part.name in BUILDS and following is not None:
                building.append(part.start(following.name))
                continue
            part.run()
            while building:
                building.pop().join()
    except KeyboardInterrupt:
        end_all()
        for thread in building:
            thread.join()


def write_results(parts, wrong, began_with, path):
    now = tree()
    results = {
        **began_with,
        "clean": now == began_with and now["clean"],
        "wrong": wrong,
        "parts": [
            {
                "name": part.name,
                "result": part.result,
                "seconds": round(part.wall, 1),
                "cpu_seconds": round(part.cpu, 1),
                "skipped": part.skipped,
                "flaky": [{"name": test.name, "text": test.text} for test in part.flaky],
                "failed": [{"name": test.name, "text": test.text} for test in part.failed],
            }
            for part in parts
        ],
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def git(*arguments):
    """What git says, or None outside a clone."""
    try:
        ended = subprocess.run(["git", "-C", ROOT, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8")
    except OSError:
        return None
    return ended.stdout.strip() if ended.returncode == 0 else None


def main(names, results=ROOT / "build" / "parts.json"):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began_with = tree()
    parts, began = [Part(name) for name in names], time.monotonic()
    run_all(parts)
    wrong = [part.name for part in parts if part.result != "ok"]
    flaky = sum(len(part.flaky) for part in parts)
    if flaky > FLAKY_ALLOWED:
        wrong.append(f"{flaky} tests are flaky, at most {FLAKY_ALLOWED} may be")
    write_results(parts, wrong, began_with, results)
    table(parts, time.monotonic() - began)
    lines = list(reasons(parts))
    for line in lines[:LISTED]:
        print(line[:400])
    if len(lines) > LISTED:
        print(f"and {len(lines) - LISTED} lines more: build/parts.json has them all")
    print(f"Failed: {', '.join(wrong)}" if wrong else "All parts passed.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
