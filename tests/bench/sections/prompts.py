"""Large prompts: bytes a second, and the memory that a message takes besides the prompt itself."""

import statistics

import figures
from lineup import Entrants, turns
from sections.warm import in_order
from service import fixed

TITLE = "Large prompts"
SIZES = {"1 KiB": 1 << 10, "16 KiB": 16 << 10, "128 KiB": 128 << 10, "1 MiB": 1 << 20, "4 MiB": 4 << 20}
MEMORY_SIZES = ("1 MiB", "4 MiB")


def run(setting):
    return [speed(setting), memory(setting)]


def speed(setting):
    points = {}
    with fixed(setting.fixed) as arguments, Entrants(setting.lineup, arguments) as entrants:
        for label, size in SIZES.items():
            found = {}
            sends = 5 if size >= 1 << 20 else 20
            for name in entrants:
                entrants[name].ask(f"prompt {size}")
            for counts, order in turns(entrants, setting.count(10, 3)):
                for name in order:
                    took = statistics.median(entrants[name].ask(f"send {sends}"))
                    if counts:
                        found.setdefault(name, []).append(size / took * 1e9 / 1e6)
            points[label] = in_order(found, setting)
    about = (
        "The prompt's bytes over the time of the whole message, JSON encoding included, against the fixed-response "
        "service. A run is the median of 20 messages, of 5 from 1 MiB on. The raw socket encodes nothing: its request "
        "is made in advance. libcurl's program encodes with a plain loop."
    )
    return figures.series("Megabytes a second", "MB/s", "prompt", points, lower_is_better=False, about=about)


def memory(setting):
    points = {}
    with fixed(setting.fixed) as arguments:
        for label in MEMORY_SIZES:
            found = {}
            for _, order in turns(setting.lineup.commands, setting.count(5, 2), warm=0):
                for name in order:
                    # A process each: what an earlier message left to the allocator would hide the next one's.
                    with Entrants(setting.lineup, arguments, [name]) as entrants:
                        found.setdefault(name, []).append(copies(entrants[name], SIZES[label]))
            points[label] = in_order(found, setting)
    about = (
        "Peak resident memory during the first message of that size, minus the memory with the prompt made and one "
        "short message sent, in multiples of the prompt's size. A run is one process. The budget is 2."
    )
    return figures.series("Copies of the prompt", "copies", "prompt", points, about=about)


def copies(entrant, size):
    entrant.ask("send 1")
    entrant.ask(f"prompt {size}")
    entrant.forget_peak()
    before = entrant.memory()
    entrant.ask("send 1")
    return (entrant.memory("VmHWM") - before) / size
