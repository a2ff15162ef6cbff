"""TLS: the first message of a new client, a message that needs a new connection, and a warm one."""

import statistics

import figures
from lineup import Entrants, turns
from sections.warm import in_order, race
from service import CLOSING, emulator

TITLE = "TLS"


def run(setting):
    rounds = setting.count(20, 3)
    first, again = handshakes(setting, rounds)
    warm, samples = race(setting, rounds, {"tls": True})
    return [
        figures.table(
            "First handshake",
            "ms",
            first,
            about="A new client in a warm process, and its first message: reading the roots, connecting, the full "
            "handshake, the message.",
        ),
        figures.table(
            "Next handshake of the same client",
            "ms",
            again,
            about="The service closes the connection after every response, so each message of the one client needs a "
            "new one. Entrants that keep TLS sessions resume; the others make a full handshake. A run is the median of "
            "10.",
        ),
        figures.table("One message over TLS, warm", "µs", warm, samples=samples, about="As section 1, over TLS 1.3."),
    ]


def handshakes(setting, rounds):
    first, again = {}, {}
    with emulator(setting.emulator, CLOSING, tls=True) as arguments, Entrants(setting.lineup, arguments) as entrants:
        for counts, order in turns(entrants, rounds):
            for name in order:
                new = [nanoseconds / 1e6 for nanoseconds in entrants[name].ask("new 2")]
                next_ones = [nanoseconds / 1e6 for nanoseconds in entrants[name].ask("send 10")]
                if counts:
                    first.setdefault(name, []).append(statistics.median(new))
                    again.setdefault(name, []).append(statistics.median(next_ones))
    return in_order(first, setting), in_order(again, setting)
