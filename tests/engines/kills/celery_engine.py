"""Celery with Redis: a worker with four processes, or on each of four machines one with a process."""

import os
import shutil
import socket
import sys
import time

from machines import SERVICE
from processes import Processes, free_port


def skip():
    print("SKIPPED: redis-server is not installed (apt-get install redis-server)")
    sys.exit(0)


class Engine:
    name, package, slots = "Celery", "celery", 4
    #: Messages that a killed process may leave unknown: its own. And how long the broker may take to deliver one again.
    settles = 65

    def __init__(self, folder, environment, machines=None):
        self.processes, self.folder, self.port, self.host = Processes(folder), folder, free_port(), SERVICE if machines else "127.0.0.1"
        self.environment = {**environment, "KILLS_BROKER": f"redis://{self.host}:{self.port}/0"}
        self.machines = machines.prefixes() if machines else [[]]

    def begin(self):
        redis = [shutil.which("redis-server") or skip(), "--port", str(self.port), "--bind", self.host, "--dir", self.folder, "--save", ""]
        self.processes.start("redis", [*redis, "--protected-mode", "no"], self.environment)
        end = time.monotonic() + 30
        while socket.socket().connect_ex((self.host, self.port)) and time.monotonic() < end:
            time.sleep(0.1)
        worker = [sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "-P", "prefork", "-l", "WARNING"]
        for n, machine in enumerate(self.machines):
            words = ["-c", str(self.slots // len(self.machines)), "-n", f"machine{n}@%h"]
            self.processes.start(f"worker{n}", [*machine, *worker, *words], self.environment)
        os.environ.update(self.environment)
        import celery_tasks

        self.tasks = celery_tasks

    def submit(self, pattern, item):
        return getattr(self.tasks, pattern).delay(item)

    def submit_probe(self):
        self.tasks.probe.delay()

    def outcome(self, future):
        if not future.ready():
            return None
        return "done" if future.successful() else f"{type(future.result).__name__}: {future.result}"

    def stop(self):
        self.processes.end()
