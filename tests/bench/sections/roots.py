"""A whole C program that trusts the platform's roots where they are: what reading them costs."""

import os
import subprocess
import sys
import time

import figures
from lineup import turns
from service import emulator

TITLE = "Cold start with the default roots"
ENTRANTS = ["agentjob C", "libcurl"]


def run(setting):
    names = [name for name in ENTRANTS if name in setting.lineup.commands]
    runs = {name: [] for name in names}
    with emulator(setting.emulator, tls=True) as arguments:
        for counts, order in turns(names, setting.count(60, 5)):
            for name in order:
                took = program(setting.lineup.commands[name], arguments)
                if counts:
                    runs[name].append(took)
    about = (
        "As section 2, but libcurl keeps its default folder of certificates, which Debian has beside the bundle. Both trust the "
        "platform's roots and the emulator's authority: agentjob as its `ca_file`, libcurl at the end of a copy of the bundle. "
        "A run is one program."
    )
    return [figures.table("A whole program with the default roots", "ms", runs, about=about)]


def program(command, arguments):
    """The milliseconds of a whole process that sends one message."""
    environment = {**os.environ, "BENCH_DEFAULT_ROOTS": "1"}
    began = time.perf_counter()
    ended = subprocess.run([*command, *arguments], input="send 1\n", env=environment, capture_output=True, text=True)
    took = time.perf_counter() - began
    if ended.returncode != 0:
        sys.exit(f"{command[0]} ended with {ended.returncode}: {ended.stderr}")
    return took * 1000
