#!/usr/bin/env python3
"""Runs parts of the Makefile one after the other, then prints a table: what ran, what was skipped and how long each part took.

    parts.py PART...        each PART is a target of the Makefile; `make test` and `make check` call this

When a part fails, the others still run. The exit status is 0 if every part passed.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

#: The limit of one part, in seconds. No part needs nearly as long, even with nothing built: this ends a part that hangs.
LIMIT = 40 * 60
#: How a part reports what it leaves out: a missing tool, a test that cannot run here.
SKIPPED = re.compile(r"(?:^|\s)SKIPPED:? ?(.*)")


class Part:
    def __init__(self, name):
        self.name, self.result, self.skipped = name, "not run", []
        self.wall = self.cpu = 0.0

    def run(self):
        print(f"\n=== {self.name}", flush=True)
        began, before = time.monotonic(), cpu()
        # Its own session, so that `end` reaches every process that the part started.
        process = subprocess.Popen(
            [os.environ.get("MAKE", "make"), "--no-print-directory", self.name],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        reader = threading.Thread(target=self.read, args=(process.stdout,), daemon=True)
        reader.start()
        try:
            status = process.wait(LIMIT)
            self.result = "ok" if status == 0 else "FAILED"
        except subprocess.TimeoutExpired:
            self.result = f"FAILED: ended after {LIMIT // 60} minutes"
        except BaseException:
            self.result = "interrupted"
            raise
        finally:
            if self.result != "ok":
                end(process)
            # A process that the part left behind may keep its output open forever.
            reader.join(10)
            self.wall, self.cpu = time.monotonic() - began, cpu() - before

    def read(self, stream):
        for line in stream:
            sys.stdout.write(line)
            sys.stdout.flush()
            found = SKIPPED.search(line)
            # Some parts report a skip twice: when it happens and in their summary.
            if found and found[1].strip() not in self.skipped:
                self.skipped.append(found[1].strip())


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment():
    """This process's environment without the job server of `make -j`: the parts run one after the other."""
    flags = os.environ.get("MAKEFLAGS", "").split(" ")
    kept = [flag for flag in flags if not flag.startswith(("--jobserver", "-j"))]
    return {**os.environ, "MAKEFLAGS": " ".join(kept)}


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def table(parts):
    print(f"\n{'part':16}{'result':10}{'time':>8}{'CPU':>8}{'skipped':>10}")
    for part in parts:
        skipped = len(part.skipped) or ""
        print(f"{part.name:16}{part.result:10}{clock(part.wall):>8}{clock(part.cpu):>8}{skipped:>10}")
    wall, used = sum(part.wall for part in parts), sum(part.cpu for part in parts)
    print(f"{'total':16}{'':10}{clock(wall):>8}{clock(used):>8}{sum(len(part.skipped) for part in parts) or '':>10}")
    for part in parts:
        for what in part.skipped:
            print(f"{part.name} skipped: {what}")


def main(names):
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    parts = [Part(name) for name in names]
    try:
        for part in parts:
            part.run()
    except KeyboardInterrupt:
        pass
    table(parts)
    wrong = [part.name for part in parts if part.result != "ok"]
    print(f"Failed: {' '.join(wrong)}" if wrong else "All parts passed.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
