"""Ray: a cluster of one node with four CPUs. The steps are in four actors."""

import os

import ray


class Engine:
    name, package, slots = "Ray", "ray", 4
    settles = 0

    def __init__(self, folder, environment):
        os.environ.update(environment)
        ray.init(num_cpus=self.slots, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        import ray_tasks

        self.tasks = ray_tasks
        self.actors = [ray_tasks.actor() for _ in range(4)]

    def begin(self):
        """It runs when it is made."""

    def submit(self, pattern, item):
        return self.tasks.stock.remote(item) if pattern == "stock" else self.actors[item % 4].send.remote(item)

    def submit_probe(self):
        self.probes = [*getattr(self, "probes", []), self.tasks.probe.remote()]

    def outcome(self, future):
        if not ray.wait([future], timeout=0)[0]:
            return None
        try:
            ray.get(future)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return "done"

    def stop(self):
        ray.shutdown()
