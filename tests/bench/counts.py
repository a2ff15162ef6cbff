"""What one warm message takes, counted instead of timed: the difference of two runs, one a thousand messages longer."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from service import emulator

SHORT, LONG = 200, 1200


def works(*command):
    return shutil.which(command[0]) is not None and subprocess.run(command, capture_output=True).returncode == 0


class Counting:
    """Counts over the entrants: {name: command}."""

    def __init__(self, entrants, service, counter):
        self.entrants, self.service, self.counter = entrants, service, counter

    def system_calls(self, name):
        """Of all threads; None without strace, or where it may not trace."""
        return self.a_message(name, self.traced) if works("strace", "-o", "/dev/null", "true") else None

    def instructions(self, name):
        """Under callgrind; None without valgrind."""
        return self.a_message(name, self.simulated) if works("valgrind", "--tool=none", "true") else None

    def allocations(self, name):
        """Calls of malloc, calloc and realloc; None where the counter was not built."""
        return self.a_message(name, self.preloaded) if self.counter.exists() else None

    def a_message(self, name, count):
        with emulator(self.service) as arguments:
            return (count(name, arguments, LONG) - count(name, arguments, SHORT)) / (LONG - SHORT)

    def traced(self, name, arguments, sends):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "trace")
            self.run(["strace", "-f", "-qq", "-o", str(trace)], name, arguments, sends)
            return sum(1 for line in trace.open() if "resumed>" not in line and "+++" not in line and "---" not in line)

    def simulated(self, name, arguments, sends):
        with tempfile.TemporaryDirectory() as folder:
            command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
            said = self.run(command, name, arguments, sends)
        return int(re.search(r"Collected\s*: (\d+)", said)[1])

    def preloaded(self, name, arguments, sends):
        said = self.run([], name, arguments, sends, LD_PRELOAD=str(self.counter))
        return int(re.search(r"allocations: (\d+)", said)[1])

    def run(self, under, name, arguments, sends, **variables):
        """Standard error of an entrant that sends so many messages."""
        # Python's hash seed decides the layout of its dicts, and so the cost of a lookup.
        variables = {**os.environ, "PYTHONHASHSEED": "0", **variables}
        command = [*under, *self.entrants[name], *arguments]
        # One thread of one client: no message is timed, and output comes only at the end.
        ended = subprocess.run(command, input=f"threads 1 {sends}\n", env=variables, capture_output=True, text=True)
        if ended.returncode != 0:
            sys.exit(f"{name} ended with {ended.returncode}: {ended.stderr}")
        return ended.stderr
