"""Dask: a cluster with four workers of one thread, each below a nanny that starts it again."""

import os
import time

import dask
from distributed import Client, LocalCluster


class Engine:
    name, package, slots = "Dask", "distributed", 4
    settles = 0

    def __init__(self, folder, environment):
        os.environ.update(environment)
        # A task that is killed often is one that Dask gives up.
        dask.config.set({"distributed.scheduler.allowed-failures": 1000, "temporary-directory": folder, "distributed.nanny.pre-spawn-environ": environment})
        self.cluster = LocalCluster(n_workers=self.slots, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50)
        self.client, self.scaled_at = Client(self.cluster), 0.0
        import agentjob
        import dask_tasks
        import points
        from agentjob.once import Once

        self.tasks = dask_tasks
        self.once = Once(agentjob.Client(timeout=5), points.store())

    def begin(self):
        """It runs when it is made."""

    def submit(self, pattern, item):
        return self.client.submit(getattr(self.tasks, pattern), self.once, item, pure=False, retries=20 if pattern == "stock" else 0)

    def submit_probe(self):
        self.probes = [*getattr(self, "probes", []), self.client.submit(self.tasks.probe, pure=False)]

    def outcome(self, future):
        if time.monotonic() > self.scaled_at + 1:
            # A nanny gives up a worker that is killed while it starts.
            self.cluster.scale(self.slots)
            self.scaled_at = time.monotonic()
        if not future.done():
            return None
        return "done" if future.status == "finished" else f"{future.status}: {future.exception()!r}"

    def stop(self):
        self.client.close(5)
        self.cluster.close(20)
