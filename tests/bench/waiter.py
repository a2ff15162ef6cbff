"""Many jobs watched at once, by one Python program: waiter.py NAME URL KEY JOBS WORK SPREAD. Prints one JSON object.

The jobs end WORK seconds after the start and later, evenly over SPREAD seconds. All have agentjob's own schedule: a poll at
once, then pauses of 15 % of the time waited, of 2 s at least, 10 % more or less.
"""

import asyncio
import heapq
import json
import pathlib
import random
import sys
import time

NAME, URL, KEY = sys.argv[1:4]
JOBS, WORK, SPREAD = int(sys.argv[4]), float(sys.argv[5]), float(sys.argv[6])
HEADERS = {"Authorization": f"Bearer {KEY}"}
CONNECTIONS = 100
WAIT = 300


def memory(field):
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024


def notice(job_id, record):
    """How late the end was noticed, in seconds."""
    assert record["id"] == job_id and record["status"] == "completed"
    return time.time() - int(job_id.split("_")[1]) / 1000


def jobs():
    begin = time.time() + WORK
    return [f"until_{int((begin + SPREAD * number / JOBS) * 1000)}_{number}" for number in range(JOBS)]


class Measure:
    """Processor time of a block, and its peak memory above that at its start."""

    def __enter__(self):
        pathlib.Path("/proc/self/clear_refs").write_text("5")
        self.before, self.used = memory("VmRSS"), time.process_time()
        return self

    def __exit__(self, *_):
        self.processor, self.memory = time.process_time() - self.used, memory("VmHWM") - self.before


def poller():
    """agentjob's Poller: one thread and one connection for all jobs."""
    import agentjob

    with agentjob.Client(base_url=URL, api_key=KEY, project_id="demo") as client:
        client.get_job("warm")
        with Measure() as measure:
            late = []
            due = [(0.0, number, client.poller(job_id, timeout=WAIT)) for number, job_id in enumerate(jobs())]
            while due:
                when, number, one = heapq.heappop(due)
                pause = when - time.monotonic()
                if pause > 0:
                    time.sleep(pause)
                record = one.poll()
                if record is None:
                    heapq.heappush(due, (time.monotonic() + one.due_in, number, one))
                else:
                    late.append(notice(one.job_id, record))
    return measure, late


async def agentjob_aio():
    from agentjob.aio import AsyncClient

    async with AsyncClient(base_url=URL, api_key=KEY, project_id="demo") as client:
        await client.get_job("warm")

        async def wait(job_id):
            return notice(job_id, await client.wait(job_id, timeout=WAIT))

        return await gathered(wait)


async def httpx():
    import httpx

    # For each request its pool searches everything that waits for a connection, so requests wait before it instead.
    turn = asyncio.Semaphore(CONNECTIONS)
    limits = httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS)
    async with httpx.AsyncClient(timeout=60, headers=HEADERS, limits=limits) as client:

        async def poll(job_id):
            async with turn:
                return (await client.get(f"{URL}/v2/agent/demo/job/{job_id}")).json()

        return await polled(poll)


async def aiohttp():
    import aiohttp

    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    async with aiohttp.ClientSession(headers=HEADERS, connector=connector) as client:

        async def poll(job_id):
            async with client.get(f"{URL}/v2/agent/demo/job/{job_id}") as response:
                return await response.json()

        return await polled(poll)


async def polled(poll):
    """The loop that a careful program writes around a client without waits."""
    await poll("warm")

    async def wait(job_id):
        began = time.monotonic()
        while (record := await poll(job_id))["status"] == "active":
            await asyncio.sleep(max(2, 0.15 * (time.monotonic() - began)) * random.uniform(0.9, 1.1))
        return notice(job_id, record)

    return await gathered(wait)


async def gathered(wait):
    with Measure() as measure:
        late = await asyncio.gather(*(wait(job_id) for job_id in jobs()))
    return measure, late


entrant = globals()[NAME]
measure, late = asyncio.run(entrant()) if asyncio.iscoroutinefunction(entrant) else entrant()
print(json.dumps({"processor": measure.processor, "memory": measure.memory, "late": sorted(late)}))
