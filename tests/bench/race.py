#!/usr/bin/env python3
"""One warm message, raced: every entrant keeps one connection to the same service, and they take turns round by round, so that
the machine's mood hits all alike. Prints the medians, and the ratios of each round's medians.

    race.py --emulator COMMAND --entrant NAME=COMMAND ... [--rounds 40] [--sends 100]
"""

import argparse
import json
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile

SCRIPT = {"hourly_limit": 1_000_000_000, "work_ms": 60_000, "keep_prompts": False, "keep_requests": False}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--entrant", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--sends", type=int, default=100)
    parser.add_argument("--against", action="append", default=[], metavar="NAME", help="print ratios to these entrants")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "service.json")
        script.write_text(json.dumps(SCRIPT))
        command = [*shlex.split(options.emulator), "--config", str(script), "--until-stdin-closes"]
        service = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            says = json.loads(service.stdout.readline())
            times = race(options, says)
        finally:
            service.stdin.close()
            service.wait(20)
    show(times, options)


def race(options, says):
    """The nanoseconds of every send: {name: [round, …]}."""
    entrants = {}
    for entrant in options.entrant:
        name, command = entrant.split("=", 1)
        command = [*shlex.split(command), says["base_url"], says["api_key"]]
        entrants[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    times = {name: [] for name in entrants}
    order = list(entrants)
    for number in range(options.rounds + 1):
        for name in order:
            process = entrants[name]
            process.stdin.write(f"{options.sends}\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                sys.exit(f"{name} ended with {process.wait()}")
            # The first round is the warm-up.
            if number > 0:
                times[name].append([int(word) for word in line.split()])
        order = order[1:] + order[:1]  # nobody always follows the same one
    for process in entrants.values():
        process.stdin.close()
        process.wait(20)
    return times


def show(times, options):
    against = [name for name in options.against if name in times]
    medians = {name: [statistics.median(part) for part in rounds] for name, rounds in times.items()}
    width = max(map(len, times)) + 2
    print(f"{options.rounds} rounds of {options.sends} sends; microseconds; ratios are medians of the rounds' own ratios")
    print(f"{'entrant':{width}}{'median':>9}{'p99':>9}{'min':>9}{'max':>10}" + "".join(f"{'/ ' + name:>14}" for name in against))
    for name, rounds in times.items():
        every = sorted(value for part in rounds for value in part)
        line = f"{name:{width}}{statistics.median(every) / 1000:9.1f}{every[len(every) * 99 // 100] / 1000:9.1f}"
        line += f"{every[0] / 1000:9.1f}{every[-1] / 1000:10.1f}"
        for other in against:
            ratios = [mine / theirs for mine, theirs in zip(medians[name], medians[other])]
            line += f"{statistics.median(ratios):14.2f}"
        print(line)


if __name__ == "__main__":
    main()
