"""A whole program: it starts, loads the library, makes a client with TLS roots, sends one message over TLS, and exits."""

import subprocess
import sys
import time

import figures
from lineup import turns
from service import emulator

TITLE = "Cold start"


def run(setting):
    commands = {**setting.lineup.commands, "bare Python": setting.lineup.bare}
    runs = {name: [] for name in commands}
    with emulator(setting.emulator, tls=True) as arguments:
        for counts, order in turns(commands, setting.count(30, 3)):
            for name in order:
                began = time.perf_counter()
                ended = subprocess.run([*commands[name], *arguments], input="send 1\n", capture_output=True, text=True)
                took = time.perf_counter() - began
                if ended.returncode != 0:
                    sys.exit(f"{name} ended with {ended.returncode}: {ended.stderr}")
                if counts:
                    runs[name].append(took * 1000)
    about = (
        "From the start of the process to its end; every entrant reads the platform's roots and the emulator's own. “bare "
        "Python” sends nothing: it is the interpreter's own time. A run is one program."
    )
    return [figures.table("A whole program with one message over TLS", "ms", runs, about=about)]
