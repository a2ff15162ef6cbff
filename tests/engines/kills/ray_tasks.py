"""Ray's functions of the check."""

import points
import ray
from agentjob import Client
from agentjob.engines.ray import AgentJobsActor


class WatchedJobs(AgentJobsActor):
    """The actor, which says where it is."""

    async def send(self, item):
        key, job_id, prompt = points.message(item)
        points.reach(item, "begin")
        await self.send_message(key, job_id, prompt, wait=True, **points.WAIT)
        points.reach(item, "end")


def actor():
    return ray.remote(num_cpus=0, max_restarts=-1, max_task_retries=-1)(WatchedJobs).remote(Client(timeout=5), points.store())


@ray.remote(max_retries=-1, retry_exceptions=True)
def stock(item):
    points.stock(item)


@ray.remote
def probe():
    points.probe()
