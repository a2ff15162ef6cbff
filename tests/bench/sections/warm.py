"""One message over a kept connection, response parsed into a record."""

import statistics

import figures
from lineup import Entrants, turns
from service import emulator

TITLE = "Warm send"
SENDS = 100


def run(setting):
    runs, samples = race(setting, setting.count(60, 6), {})
    about = (
        "One keep-alive connection, POST of the example prompt to the emulator, the response parsed into a record and "
        "checked. A run is the median of 100 sends; median, p99, minimum and maximum are of all sends."
    )
    return [figures.table("One message, warm", "µs", runs, samples=samples, about=about)]


def race(setting, rounds, how):
    """Microseconds: each round's median, and every send."""
    runs, samples = {}, {}
    with emulator(setting.emulator, **how) as arguments, Entrants(setting.lineup, arguments) as entrants:
        for counts, order in turns(entrants, rounds):
            for name in order:
                times = [nanoseconds / 1000 for nanoseconds in entrants[name].ask(f"send {SENDS}")]
                if counts:
                    runs.setdefault(name, []).append(statistics.median(times))
                    samples.setdefault(name, []).extend(times)
    return in_order(runs, setting), in_order(samples, setting)


def in_order(found, setting):
    return {name: found[name] for name in setting.lineup.commands if name in found}
