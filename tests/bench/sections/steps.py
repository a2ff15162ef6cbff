"""Steps: what the store of agentjob.once costs a message."""

import json
import pathlib
import subprocess
import sys
import tempfile
from contextlib import ExitStack

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
MESSAGES, PACED = 200, 60


def run(setting):
    entrants = {name: pattern for name, pattern in ENTRANTS.items() if pattern != "dbos" or has_dbos(setting.lineup.python)}
    with fixed(setting.fixed) as arguments, ExitStack() as stack:
        databases = {"SQLite": files(stack), "PostgreSQL": schemas(stack)}
        places = {name: place for name, place in databases.items() if place is not None}
        races = [Race(setting, name, place, entrants, arguments) for name, place in places.items()]
        return [table for race in races for table in race.tables()]


def files(stack):
    folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
    return lambda pattern: str(folder / f"{pattern}.db")


def schemas(stack):
    sys.path.append(str(pathlib.Path(__file__).parents[2] / "python"))
    import postgresql

    if postgresql.programs() is None:
        print("SKIPPED: steps in PostgreSQL: its server is not installed", file=sys.stderr, flush=True)
        return None
    server = stack.enter_context(postgresql.Server())
    urls = {pattern: server.schema() for pattern in ENTRANTS.values()}
    return urls.__getitem__


def has_dbos(python):
    if subprocess.run([python, "-c", "import dbos"], capture_output=True).returncode == 0:
        return True
    print("SKIPPED: DBOS: it is not installed", file=sys.stderr, flush=True)
    return False


class Race:
    """The entrants with the stores of one kind of database: `place` says where that of a pattern is."""

    def __init__(self, setting, database, place, entrants, arguments):
        self.setting, self.database, self.place, self.entrants, self.arguments = setting, database, place, entrants, arguments

    def tables(self):
        return [*self.one_after_another(), self.paced()]

    def started(self, name, *words):
        pattern = self.entrants[name]
        command = [self.setting.lineup.python, STEPPER, *self.arguments, self.place(pattern), pattern, *words]
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, text=True)

    def one_after_another(self):
        took, used = {}, {}
        for counts, order in turns(self.entrants, self.setting.count(9, 2)):
            for name in order:
                found = result(self.started(name, MESSAGES))
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
        cores, seconds = {}, self.setting.count(PACED, 20)
        for name in self.entrants:
            each = round(STEPS * seconds / 3600 / WORKERS)
            workers = [self.started(name, each, seconds) for _ in range(WORKERS)]
            cores[name] = [sum(result(worker)["processor"] for worker in workers) / seconds * 100]
        about = (
            f"The processor time of {WORKERS} processes that send {STEPS:,} messages an hour, evenly over {seconds} s. The budget is 5 % of a "
            "core more than without a store."
        )
        return figures.table(f"{WORKERS} workers and {STEPS:,} steps an hour in {self.database}", "% of a core", cores, about=about)


def result(process):
    said = process.communicate(timeout=300)[0]
    if process.returncode != 0:
        sys.exit(f"{process.args} ended with {process.returncode}")
    return json.loads(said.splitlines()[-1])
