#!/usr/bin/env python3
"""One message as a whole program: start, load the library, make a client with TLS roots, send over TLS, exit. The entrants take
turns, so that the machine's mood hits all alike. Prints milliseconds of wall time, and the ratios of each round.

    start.py --emulator COMMAND --entrant NAME=COMMAND ... [--against NAME ...] [--rounds 40]

COMMAND is called with the service's URL, its key, and a file with the authority to trust.
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

SCRIPT = {"hourly_limit": 1_000_000_000, "work_ms": 60_000, "keep_prompts": False, "keep_requests": False}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--entrant", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--against", action="append", default=[], metavar="NAME", help="print ratios to these entrants")
    parser.add_argument("--rounds", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "service.json")
        script.write_text(json.dumps(SCRIPT))
        command = [*shlex.split(options.emulator), "--tls", "--config", str(script), "--until-stdin-closes"]
        service = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            says = json.loads(service.stdout.readline())
            times = race(options, [says["base_url"], says["api_key"], says["ca_file"]])
        finally:
            service.stdin.close()
            service.wait(20)
    show(times, options)


def race(options, words):
    """The seconds of every run: {name: [round, …]}."""
    entrants = dict(entrant.split("=", 1) for entrant in options.entrant)
    times = {name: [] for name in entrants}
    order = list(entrants)
    for number in range(options.rounds + 1):
        for name in order:
            command = [*shlex.split(entrants[name]), *words]
            began = time.perf_counter()
            ended = subprocess.run(command, capture_output=True, text=True)
            took = time.perf_counter() - began
            if ended.returncode != 0:
                sys.exit(f"{name} ended with {ended.returncode}: {ended.stderr}")
            # The first round fills the caches.
            if number > 0:
                times[name].append(took)
        order = order[1:] + order[:1]
    return times


def show(times, options):
    against = [name for name in options.against if name in times]
    width = max(map(len, times)) + 2
    print(f"{options.rounds} whole programs each; milliseconds; ratios are medians of the rounds' own ratios")
    print(f"{'entrant':{width}}{'median':>9}{'min':>9}{'max':>9}" + "".join(f"{'/ ' + name:>16}" for name in against))
    for name, rounds in times.items():
        line = f"{name:{width}}{statistics.median(rounds) * 1000:9.1f}{min(rounds) * 1000:9.1f}{max(rounds) * 1000:9.1f}"
        for other in against:
            line += f"{statistics.median(mine / theirs for mine, theirs in zip(rounds, times[other])):16.2f}"
        print(line)


if __name__ == "__main__":
    main()
