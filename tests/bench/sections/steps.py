"""Steps: what the store of agentjob.once costs a message."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager

import figures
from lineup import turns
from service import fixed

TITLE = "Steps"
STEPPER = pathlib.Path(__file__).parents[1] / "stepper.py"
#: name: the pattern of stepper.py
ENTRANTS = {"no store": "send", "agentjob.once": "once", "by hand": "hand", "DBOS": "dbos"}
#: The budget: so many steps an hour by so many workers.
STEPS, WORKERS = 10_000, 8
#: How many messages a run has one after the other, and for how many seconds it has those of the budget.
MESSAGES, PACED = 200, 30
TICKS = os.sysconf("SC_CLK_TCK")


def run(setting):
    entrants = dict(ENTRANTS)
    if subprocess.run([setting.lineup.python, "-c", "import dbos"], capture_output=True).returncode != 0:
        setting.lineup.skip("DBOS", "it is not installed")
        del entrants["DBOS"]
    with fixed(setting.fixed) as arguments, ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(dir=setting.build)))
        races = [Race(setting, "SQLite", lambda pattern: folder / f"{pattern}.db", entrants, arguments)]
        server = postgresql_server(stack)
        if server is None:
            setting.lineup.skip("steps in PostgreSQL", "its server is not installed")
        else:
            urls = {pattern: server.schema() for pattern in ENTRANTS.values()}
            races.append(Race(setting, "PostgreSQL", urls.__getitem__, entrants, arguments, server.process.pid))
        return [table for race in races for table in race.tables()]


def postgresql_server(stack):
    sys.path.append(str(pathlib.Path(__file__).parents[2] / "python"))
    import postgresql

    return stack.enter_context(postgresql.Server()) if postgresql.programs() else None


class Race:
    """The entrants with the stores of one kind of database: `place` says where that of a pattern is. `server`: its process, if it has one."""

    def __init__(self, setting, database, place, entrants, arguments, server=None):
        self.setting, self.database, self.place, self.entrants, self.arguments = setting, database, place, entrants, arguments
        self.server = server

    def tables(self):
        return [*self.one_after_another(), *self.paced()]

    @contextmanager
    def started(self, name, *words):
        pattern = self.entrants[name]
        command = [self.setting.lineup.python, STEPPER, *self.arguments, self.place(pattern), pattern, *words]
        process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    def one_after_another(self):
        took, used = {}, {}
        for counts, order in turns(self.entrants, self.setting.count(9, 2)):
            for name in order:
                with self.started(name, MESSAGES) as process:
                    found = result(process)
                if counts:
                    took.setdefault(name, []).append(found["took"] / MESSAGES * 1e6)
                    used.setdefault(name, []).append(found["processor"] / MESSAGES * 1e6)
        about = (
            f"{MESSAGES} messages one after the other, each under a key of its own; a run is one process. All send with agentjob's client. "
            "By hand: one reads the row of the key, writes the intent, sends, and writes the outcome. DBOS runs a workflow with one step, which "
            "it may run twice. All sync what they commit to the disk."
        )
        return [
            figures.table(f"A message as a step in {self.database}", "µs", took, about=about),
            figures.table(f"Processor time of a step in {self.database}", "µs", used, about="Of the client, with the send and the driver."),
        ]

    def paced(self):
        clients, servers, seconds = {}, {}, self.setting.count(PACED, 10)
        for _, order in turns(self.entrants, self.setting.count(4, 1), warm=0):
            for name in order:
                before = processor_time(self.server)
                clients.setdefault(name, []).append(self.workers(name, seconds) / seconds * 100)
                servers.setdefault(name, []).append((processor_time(self.server) - before) / seconds * 100)
        without = clients.pop("no store")
        more = {name: [one - other for one, other in zip(runs, without)] for name, runs in clients.items()}
        title, load = f"{STEPS:,} steps an hour in {self.database}", f"{WORKERS} processes send {STEPS:,} messages an hour, evenly over {seconds} s."
        about = f"{load} Their processor time beyond what it is without a store. Ours may take 5 % of a core."
        yield figures.table(title, "% of a core", more, about=about)
        if self.server:
            del servers["no store"]
            about = "Of all its processes, meanwhile, with the making of the entrants' tables and connections."
            yield figures.table("Processor time of PostgreSQL's server meanwhile", "% of a core", servers, about=about)

    def workers(self, name, seconds):
        """The processor time of all."""
        each = round(STEPS * seconds / 3600 / WORKERS)
        with ExitStack() as stack:
            workers = [stack.enter_context(self.started(name, each, seconds, number / WORKERS)) for number in range(WORKERS)]
            return sum(result(worker)["processor"] for worker in workers)


def result(process):
    said = process.communicate(timeout=300)[0]
    if process.returncode != 0:
        sys.exit(f"{process.args} ended with {process.returncode}")
    return json.loads(said.splitlines()[-1])


def processor_time(server):
    """That of a process and its children, the ended ones, too, in seconds; 0 if there is none."""
    if server is None:
        return 0.0
    children = subprocess.run(["pgrep", "-P", str(server)], capture_output=True, text=True).stdout.split()
    ticks = sum(times(server)) + sum(sum(times(child)[:2]) for child in children)
    return ticks / TICKS


def times(process):
    """utime, stime, cutime and cstime of proc(5); 0 if it has ended."""
    try:
        return [int(field) for field in pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]]
    except OSError:
        return [0] * 4
