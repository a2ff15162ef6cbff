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
    with fixed(setting.fixed) as arguments, Entrants(setting.lineup, arguments) as entrants:
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
        "One client shared by the threads, against the fixed-response service, which runs on the same processors. "
        "http.client, pycurl, libcurl and the raw sockets have one connection or handle per thread; aiohttp has tasks "
        "instead of threads. With one thread the result depends on where the kernel runs the two sides: on one "
        "processor a raw message took 9 µs on the first machine that ran this, on two processors, which sleep in "
        "turns, 105."
    )
    return [
        figures.series("Messages a second", "1/s", "threads", rate, lower_is_better=False, about=about),
        figures.series("Processor time of the client a message", "µs", "threads", processor),
    ]
