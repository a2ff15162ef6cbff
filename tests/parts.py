#!/usr/bin/env python3
"""Runs parts of the Makefile one after the other, and says at the end, in one table, what ran, what was skipped and how long each took.

    parts.py PART...        each PART is a target of the Makefile; `make test` and `make check` call this

A part that fails does not keep the others from running. The exit status is 0 if every part passed.
"""

import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time

#: The limit of one part, in seconds: far beyond what any of them needs with nothing built, so that a hang is an end, too.
LIMIT = 40 * 60
#: What a part says of what it leaves out: a tool that is not here, a test that cannot run.
SKIPPED = re.compile(r"(?:^|\s)SKIPPED:? ?(.*)")


class Part:
    def __init__(self, name):
        self.name, self.result, self.skipped = name, "not run", []
        self.wall = self.cpu = 0.0

    def run(self):
        print(f"\n=== {self.name}", flush=True)
        began, before = time.monotonic(), cpu()
        # A session of its own, so that everything that it started can be ended.
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
            # What a part left running may hold its output open for ever.
            reader.join(10)
            self.wall, self.cpu = time.monotonic() - began, cpu() - before

    def read(self, stream):
        for line in stream:
            sys.stdout.write(line)
            sys.stdout.flush()
            found = SKIPPED.search(line)
            # Some say it when they come to it, and again at their end.
            if found and found[1].strip() not in self.skipped:
                self.skipped.append(found[1].strip())


def cpu():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def environment():
    """This one's without the job server of a make -j, for the parts come one after the other."""
    words = os.environ.get("MAKEFLAGS", "").split(" ")
    kept = [word for word in words if not word.startswith(("--jobserver", "-j"))]
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
    print(f"{'all':16}{'':10}{clock(wall):>8}{clock(used):>8}{sum(len(part.skipped) for part in parts) or '':>10}")
    for part in parts:
        for what in part.skipped:
            print(f"skipped in {part.name}: {what}")


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
    print(f"not passed: {' '.join(wrong)}" if wrong else "all passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
