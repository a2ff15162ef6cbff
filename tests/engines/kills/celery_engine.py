"""Celery with Redis: a worker with four processes."""

import os
import shutil
import socket
import sys
import time

from processes import Processes, free_port


def skip():
    print("SKIPPED: redis-server is not installed (apt-get install redis-server)")
    sys.exit(0)


class Engine:
    name, slots = "Celery", 4
    #: Messages that a killed process may leave unknown: its own. And how long the broker may take to deliver one again.
    is_one_at_a_time, settles = True, 65

    def __init__(self, folder, environment):
        self.processes, port = Processes(folder), free_port()
        environment = {**environment, "KILLS_BROKER": f"redis://127.0.0.1:{port}/0"}
        self.environment, self.port, self.folder = environment, port, folder

    def begin(self):
        environment, port, folder = self.environment, self.port, self.folder
        redis = shutil.which("redis-server") or skip()
        self.processes.start("redis", [redis, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""], environment)
        end = time.monotonic() + 30
        while socket.socket().connect_ex(("127.0.0.1", port)) and time.monotonic() < end:
            time.sleep(0.1)
        worker = [sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "-c", str(self.slots), "-P", "prefork", "-l", "WARNING"]
        self.processes.start("worker", worker, environment)
        os.environ.update(environment)
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
