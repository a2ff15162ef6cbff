"""Which messages' workers are killed where, and where their machines are cut off from the store."""

import os
import random
import signal
import threading
import time

from machines import DIRECTIONS

#: Where a worker is killed; README.md says what they mean.
POINTS = ["begin", "take", "taken", "request", "processed", "responded", "settle", "settled", "finish", "finished", "end", "later", "waiting"]
#: Where the plain pattern is killed instead, because it has no store.
NO_STORE = {"take": "begin", "taken": "begin", "settle": "responded", "settled": "waiting", "finish": "end", "finished": "end"}
#: Those that are times: how many seconds after which point.
TIMES = {"later": (0.0, 0.05, "begin"), "waiting": (0.1, 1.0, "responded")}
#: Where a machine is cut off: before a statement, and while the request is there. For how many seconds: an outcome is tried to be recorded for
#: 20, a result for 30, and a lease lasts 35.
CUT_OFF, SHORT, LONG = ["take", "request", "responded", "settle", "finish"], (0.5, 6.0), (8.0, 50.0)
#: Between which points a message can become unknown, and where its result is recorded.
SENDS, RECORDS = {"begin", "take", "taken", "request", "processed", "responded", "settle"}, {"responded", "settle", "settled", "finish", "finished"}


class Plan:
    """Which messages' workers are killed where, and which were. With machines, theirs are cut off half as often."""

    def __init__(self, items, kills, pattern, seed, machines=None):
        draw = random.Random(seed)
        # At most three of each message, in order.
        slots = [item for item in range(items) for _ in range(3)]
        draw.shuffle(slots)
        self.pending = {}
        for n, item in enumerate(slots[: kills * 3 // 2 if machines else kills]):
            point = draw.choice(POINTS if n < kills else CUT_OFF)
            cut = None if n < kills else (draw.choice(DIRECTIONS), draw.uniform(*(LONG if draw.random() < 0.2 else SHORT)))
            self.pending.setdefault(item, []).append((NO_STORE.get(point, point) if pattern == "stock" else point, cut))
        for events in self.pending.values():
            draw.shuffle(events)
        self.draw, self.lock, self.machines = draw, threading.Lock(), machines
        #: The last process of each message, and the last message of each process.
        self.processes, self.messages = {}, {}
        #: What was killed where, and which messages were being sent by the processes that were killed.
        self.killed, self.disturbed = [], set()
        #: How often a machine was cut off; where each message was when; what went wrong here.
        self.cuts, self.reached, self.errors = 0, {}, machines.errors if machines else []

    def reach(self, item, point, machine, pid=None):
        """A worker is at a point of a message. Returns when it is dead, if it is to be killed there."""
        with self.lock:
            if pid is not None:
                self.processes[item] = pid, started(pid)
                self.messages[pid] = item
            self.reached.setdefault(item, []).append((time.monotonic(), machine, point))
            process, pending = self.processes.get(item), self.pending.get(item)
            if process is None or not pending:
                return
            (name, cut), (shortest, longest, after) = pending[0], TIMES.get(pending[0][0], (0.0, 0.0, pending[0][0]))
            if after != point:
                return
            pending.pop(0)
            pause = self.draw.uniform(shortest, longest)
        if cut is not None:
            self.machines.cut_off(machine, *cut)
            with self.lock:
                self.cuts += 1
        elif name in TIMES:
            threading.Timer(pause, self.kill, (name, *process)).start()
        else:
            self.kill(name, *process)

    def was_cut_off(self, item, points, seconds=0.0):
        """Whether the machine of a message was cut off at one of these points, for longer than that."""
        reached = [(at, machine) for at, machine, point in self.reached.get(item, []) if point in points]
        return self.machines is not None and any(self.machines.was_cut_off(machine, at, seconds) for at, machine in reached)

    def kill(self, point, pid, at):
        if at is None or started(pid) != at:
            return
        with self.lock:
            os.kill(pid, signal.SIGKILL)
            killed = self.messages[pid]
            self.killed.append((killed, point))
            being_sent = {item for item, process in self.processes.items() if process == (pid, at) and self.reached[item][-1][2] in SENDS}
            # At these points its worker had not taken the step yet.
            self.disturbed |= being_sent - ({killed} if point in ("begin", "take") else set())
        while started(pid) == at:
            time.sleep(0.001)


def started(pid):
    """When a process that runs was started; None if it doesn't run."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]
