#!/usr/bin/env python3
"""Kills the workers of a real engine while they send messages, and compares what the service has with what the engine and the store say.

    run.py --engine celery --pattern ours --kills 300 --results FILE [--machines 4]

With machines, the workers are on so many, the steps are in PostgreSQL, and a machine is cut off from the store half as often as a worker is
killed.

Adds a row to FILE, a JSON object. Exit status 1 if a promise was broken: a message arrived twice, is lost, or holds a slot while it waits; or if
too few workers were killed, or machines cut off.
"""

import argparse
import contextlib
import datetime
import importlib
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import metadata

from machines import SERVICE, STORE, Machines, enter
from plan import RECORDS, SENDS, Plan
from processes import postgresql_server
from service import Service

from agentjob.once import Once
from agentjob.testing import Emulator

#: How long all messages may take, in seconds; how long the last leases last; how long slots may take to be counted, and how long free ones
#: may take to be used.
LIMIT, LEASES, COUNTS, USED = 3600, 60, 300, 60
#: How often it says how far it is, in seconds.
SAYS = 60
#: How long a machine must be cut off, in seconds, that an outcome and a result may be recorded late, or not at all.
CUTS_OUTCOME, CUTS_RESULT = 8, 20
#: How often steps are resolved and run again, whose workers are killed then, too.
ROUNDS = 5
#: The first item of those that only wait, while free slots are counted.
WAITING = 1_000_000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", required=True)
    parser.add_argument("--pattern", choices=["ours", "stock"], required=True)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--machines", type=int, choices=[2, 4], help="only for Celery, and with our pattern")
    options = parser.parse_args()
    if options.machines and (options.engine, options.pattern) != ("celery", "ours"):
        parser.error("--machines: only for Celery, and with our pattern")
    # The engine's processes end with this one.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    if options.machines:
        enter()
    with contextlib.ExitStack() as stack:
        row = checked(options, stack)
    print(json.dumps(row, indent=1))
    if options.results:
        rows = json.loads(options.results.read_text()) if options.results.exists() else {}
        machines = f", {options.machines} machines" if options.machines else ""
        options.results.write_text(json.dumps({**rows, f"{row['engine']}, {row['pattern']}{machines}": row}, indent=1) + "\n")
    broken = row["duplicates"] or row["lost"] or row["wrong"] or row["slots held"]
    too_few = row["kills"] < options.kills or row.get("cut off", options.kills) < options.kills // 3
    sys.exit(too_few or options.pattern == "ours" and bool(broken))


def checked(options, stack):
    """Runs a check, and returns its row."""
    folder, emulator = stack.enter_context(tempfile.TemporaryDirectory()), stack.enter_context(Emulator())
    machines = stack.enter_context(Machines(options.machines)) if options.machines else None
    # Some kills don't happen, because their message needs no further worker.
    plan = Plan(options.kills, options.kills * 3 // 2, options.pattern, options.seed, machines)
    service = Service(emulator, plan, SERVICE if machines else "127.0.0.1")
    stack.callback(service.stop)
    store = workers_store = os.path.join(folder, "steps.db")
    if machines:
        server = stack.enter_context(postgresql_server(listen_addresses="*"))
        with open(os.path.join(server.data, "pg_hba.conf"), "a") as access:
            access.write("host all all 10.77.0.0/16 trust\n")
        server.sql("SELECT pg_reload_conf()")
        machines.check(server.port)
        store, workers_store = server.url(), server.url().replace("127.0.0.1", STORE)
    environment = {**os.environ, **emulator.environment(), "AGENTJOB_BASE_URL": service.url, "KILLS_STORE": workers_store}
    environment["PYTHONPATH"] = str(pathlib.Path(__file__).parent)
    engine = importlib.import_module(options.engine + "_engine").Engine(folder, environment, *filter(None, [machines]))
    stack.callback(engine.stop)
    engine.begin()
    row = Check(engine, options.pattern, emulator, service, store).run(options.kills)
    return {**row, "machines": options.machines, "cut off": plan.cuts} if machines else row


class Check:
    def __init__(self, engine, pattern, emulator, service, store):
        self.engine, self.pattern, self.emulator, self.service, self.store = engine, pattern, emulator, service, store

    def run(self, items):
        self.emulator.reset(jobs=[{"id": f"job_{item}", "status": "completed"} for item in range(items)], work_ms=500, hourly_limit=1_000_000)
        begin, plan, self.wrong, unknown = time.monotonic(), self.service.plan, [], set()
        outcomes = self.ended({item: self.engine.submit(self.pattern, item) for item in range(items)})
        failed = {item for item, outcome in outcomes.items() if outcome != "done"}
        arrived = self.arrived()
        self.wrong += [f"item {item} is done, and did not arrive" for item in range(items) if not arrived[item] and item not in failed]
        if self.pattern == "ours":
            unknown = self.resolve(Once(self.emulator.client(), self.store), outcomes, failed)
        time.sleep(self.engine.settles)
        at_last = self.arrived()
        self.wrong += plan.errors
        return {
            "engine": self.engine.name,
            "version": metadata.version(self.engine.package),
            "date": datetime.date.today().isoformat(),
            "pattern": "agentjob" if self.pattern == "ours" else "httpx and retries",
            "messages": items,
            "kills": len(plan.killed),
            "killed at": dict(Counter(point for _, point in plan.killed)),
            "duplicates": sum(count > 1 for count in at_last.values()),
            "lost": sum(not at_last[item] for item in range(items)),
            "unknown": len(unknown),
            "unknown that arrived": sum(arrived[item] > 0 for item in unknown),
            "failed": len(failed - unknown),
            "wrong": self.wrong,
            "slots": self.engine.slots,
            "slots held": self.slots_held(),
            "seconds": round(time.monotonic() - begin),
        }

    def resolve(self, once, outcomes, left):
        """Checks what the store has, then does what a person does: checks the jobs, decides, and runs the steps again. Returns what was unknown."""
        was_unknown = set()
        for _ in range(ROUNDS):
            if not until(lambda: not once.steps(state="sending"), LEASES):
                self.wrong.append("a step is still sending after its lease")
            if not until(lambda: self.service.posts == 0, LEASES):
                self.wrong.append("a message is still being sent")
            unknown = {item_of(step): step["key"] for step in once.steps(state="unknown")}
            accepted = {item_of(step) for step in once.steps(state="accepted")}
            arrived, plan = self.arrived(), self.service.plan
            was_unknown |= set(unknown)
            undisturbed = [item for item in set(unknown) - plan.disturbed if not plan.was_cut_off(item, SENDS)]
            self.wrong += [f"item {item} is unknown, though nothing happened while it was sent" for item in undisturbed]
            # What a long cut delayed may be recorded after the worker has given up.
            late = {item for item in accepted if plan.was_cut_off(item, SENDS, CUTS_OUTCOME)}
            self.wrong += [f"item {item} ended with {outcomes[item]}, and is not unknown" for item in left - set(unknown) - late]
            self.wrong += [f"item {item} is done, and not accepted" for item in set(outcomes) - left - accepted]
            if not left:
                break
            for item, key in unknown.items():
                once.resolve(key, "arrived" if arrived[item] else "not_arrived")
            outcomes = self.ended({item: self.engine.submit(self.pattern, item) for item in left})
            left = {item for item, outcome in outcomes.items() if outcome != "done"}
        self.wrong += [f"item {item} was not done after {ROUNDS} rounds" for item in left]
        links = {int(entry["prompt"].rpartition(" ")[2]): entry["pr_link"] for entry in self.emulator.ledger()}
        for step in once.steps(state="accepted"):
            job, item = step["job"] or {"status": None, "prLink": None}, item_of(step)
            if links.get(item) is None:
                self.wrong.append(f"item {item} is accepted, and did not arrive")
            elif (job["status"], job["prLink"]) != ("completed", links[item]):
                if job["prLink"] or not self.service.plan.was_cut_off(item, RECORDS, CUTS_RESULT):
                    self.wrong.append(f"item {item} has no result, or that of another message: {job}")
        return was_unknown

    def arrived(self):
        """How often each message did."""
        return Counter(int(entry["prompt"].rpartition(" ")[2]) for entry in self.emulator.ledger())

    def ended(self, futures):
        """How each ended, when all have."""
        outcomes, end, said = {}, time.monotonic() + LIMIT, time.monotonic()
        while len(outcomes) < len(futures):
            if time.monotonic() > said + SAYS:
                said = time.monotonic()
                print(f"{len(outcomes)} of {len(futures)} messages ended, {len(self.service.plan.killed)} workers killed", file=sys.stderr, flush=True)
            for item in set(futures) - set(outcomes):
                outcome = self.engine.outcome(futures[item])
                if outcome is not None:
                    outcomes[item] = outcome
            if time.monotonic() > end:
                sys.exit(f"{len(futures) - len(outcomes)} messages did not end, such as item {min(set(futures) - set(outcomes))}")
            time.sleep(0.2)
        return outcomes

    def slots_held(self):
        """How many of the slots are not free while as many jobs work."""
        slots = self.engine.slots
        self.emulator.reset(jobs=[{"id": f"job_{WAITING + slot}"} for slot in range(slots)], work_ms=600_000)
        # Dask cancels a task whose future is dropped.
        self.waiting = [self.engine.submit(self.pattern, WAITING + slot) for slot in range(slots)]
        if not until(lambda: len(self.emulator.ledger()) >= slots, COUNTS):
            sys.exit("the messages did not arrive during which free slots are counted")
        for _ in range(slots):
            self.engine.submit_probe()
        until(lambda: self.service.probes == slots, USED)
        return slots - self.service.probes


def item_of(step):
    return int(step["key"].rpartition(" ")[2])


def until(condition, seconds):
    """Whether it became true in time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.2)
    return True


if __name__ == "__main__":
    main()
