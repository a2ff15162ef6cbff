#!/usr/bin/env python3
"""Runs parts of the platform check one after the other, then prints a table: what was built, what ran, and how long it took.

    table.py PART...        each PART is a script check-PART.sh beside this file

A part names its steps with lines that begin with `--- `. What its tests report below such a line (cargo's, pytest's or the C programs'
totals) is counted for that step; a step without tests has built something. A line that begins with SKIPPED says what was left out.
When a part fails, the others still run. The exit status is 0 if no part failed. A part that could not run is named at the end; with
WHOLE=1 in the environment it has failed.
"""

import os
import pathlib
import re
import signal
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from failures import TOTAL, TOTALS  # noqa: E402
from running import run  # noqa: E402

#: The limit of all parts together, in seconds. It ends a part that hangs, and those after it do not begin.
LIMIT = 90 * 60
#: `SKIPPED the rest: …` ends a part.
SKIPPED = re.compile(r"^SKIPPED:? (.*)")
HEAD = ("part", "step", "passed", "failed", "skipped", "minutes")


class Step:
    """One thing that was built or run."""

    def __init__(self, name):
        self.name, self.began, self.minutes = name, time.monotonic(), 0.0
        self.counts = dict.fromkeys(TOTALS, None)

    def count(self, line):
        for kind, pattern in TOTALS.items():
            if found := pattern.search(line):
                self.counts[kind] = (self.counts[kind] or 0) + int(found[1])

    def ran_nothing(self):
        return self.name.startswith("ran:") and not any(self.counts.values())

    def end(self):
        self.minutes = (time.monotonic() - self.began) / 60

    def row(self, part):
        counts = ["" if count is None else str(count) for count in self.counts.values()]
        return [part, self.name, *counts, f"{self.minutes:.1f}"]


class Part:
    """The script of one platform."""

    def __init__(self, name):
        self.name, self.result, self.steps, self.skipped, self.ended_early = name, "not run", [], [], False

    def run(self, limit):
        print(f"\n=== {self.name}", flush=True)
        self.result = "interrupted"
        try:
            self.result = run(["bash", HERE / f"check-{self.name}.sh"], limit, self.notice)
        finally:
            self.end_step()
        empty = [step.name for step in self.steps if step.ran_nothing()]
        if self.result == "ok" and self.ended_early:
            self.result = "skipped"
        elif self.result == "ok" and empty:
            self.result = f"no test {empty[0]}"

    def notice(self, line):
        line = line.strip()
        if line.startswith("--- "):
            self.end_step()
            self.steps.append(Step(line[4:]))
        elif found := SKIPPED.match(line):
            self.skipped.append(found[1])
            self.ended_early |= found[1].startswith("the rest: ")
        elif self.steps and TOTAL.match(line):
            self.steps[-1].count(line)

    def end_step(self):
        if self.steps and not self.steps[-1].minutes:
            self.steps[-1].end()

    def rows(self):
        return [step.row(self.name) for step in self.steps] or [[self.name, "nothing", "", "", "", "0.0"]]


def table(parts):
    rows = [row for part in parts for row in part.rows()]
    total = sum(step.minutes for part in parts for step in part.steps)
    sums = [str(sum(int(row[column] or 0) for row in rows)) for column in (2, 3, 4)]
    rows = [list(HEAD), *rows, ["total", "", *sums, f"{total:.1f}"]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    print()
    for row in rows:
        left = "  ".join(text.ljust(width) for text, width in zip(row[:2], widths))
        print(left, *(text.rjust(width) for text, width in zip(row[2:], widths[2:])), sep="  ")
    for part in parts:
        for what in part.skipped:
            print(f"{part.name} skipped: {what}")


def main(names):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parts = [Part(name) for name in names]
    end = time.monotonic() + LIMIT
    try:
        for part in parts:
            if (left := end - time.monotonic()) > 0:
                part.run(int(left))
    except KeyboardInterrupt:
        pass
    table(parts)
    skipped = [part.name for part in parts if part.result == "skipped"]
    wrong = [f"{part.name} ({part.result})" for part in parts if part.result not in ("ok", "skipped")]
    for how, those in (("Not run", skipped), ("Failed", wrong)):
        if those:
            print(f"{how}: {', '.join(those)}")
    if not wrong and not skipped:
        print("All parts passed.")
    return 1 if wrong or (skipped and os.environ.get("WHOLE")) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
