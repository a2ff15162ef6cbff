"""Many threads on one client: messages a second, and processor time a message."""

import figures
from lineup import Entrants, turns
from sections.warm import in_order
from service import fixed

TITLE = "Threads"
THREADS = [1, 2, 4, 8, 16, 32]
SECONDS = 0.2


def run(setting):
    rate, processor = {}, {}
    with fixed(setting.fixed) as words, Entrants(setting.lineup, words) as entrants:
        # How many messages make a run long enough: as many as one thread sends in that time.
        total = {name: int(SECONDS * 1e9 / min(entrant.ask("send 50"))) for name, entrant in entrants.items()}
        for threads in THREADS:
            rates, processors = {}, {}
            for counts, order in turns(entrants, setting.count(7, 1)):
                for name in order:
                    sends = max(total[name] // threads, 3) if counts else 3
                    clock, used = entrants[name].ask(f"threads {threads} {sends}")
                    if counts:
                        rates.setdefault(name, []).append(threads * sends / clock * 1e9)
                        processors.setdefault(name, []).append(used / 1000 / threads / sends)
            rate[threads], processor[threads] = in_order(rates, setting), in_order(processors, setting)
    about = (
        "One client and so many threads, against the fixed-answer service, which needs its share of the same "
        "processors. http.client, pycurl and libcurl want a connection or handle a thread and have it; aiohttp has "
        "tasks for threads. The raw sockets are one a thread. With one thread all depends on where the kernel puts "
        "the two sides: tied to one processor a raw message took 9 µs on the first machine that this ran "
        "on, tied to two, which sleep in turns, 105."
    )
    return [
        figures.series("Messages a second", "1/s", "threads", rate, lower_is_better=False, about=about),
        figures.series("Processor time of the client a message", "µs", "threads", processor),
    ]
