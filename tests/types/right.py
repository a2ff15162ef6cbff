"""Code of a user that has no type error; check.py says who reads it."""

import asyncio
import math
import sys
from functools import partial
from typing import TYPE_CHECKING, List

import agentjob
from agentjob.aio import AsyncClient
from agentjob.once import Once, SQLiteStore
from agentjob.testing import Emulator, Rule
from agentjob.types import BatchItem, Job


def batch(client: agentjob.Client) -> None:
    items: List[BatchItem] = [{"job_id": "job_1", "prompt": "Add tests", "key": "tests", "line": 3}]
    for outcome in client.send_all(items, journal="night.journal"):
        print(outcome["job_id"], outcome["delivery"])
    client.send_all([{"job_id": "job_1", "prompt": "Add tests"}], journal="night.journal")
    client.send_all([("job_1", "Add tests"), ("job_2", "Add docs", "docs")], journal="night.journal")
    client.send_all(({"job_id": f"job_{n}", "prompt": "Add tests"} for n in range(3)), journal="night.journal")


def waits(client: agentjob.Client) -> None:
    client.wait("job_1", timeout="client")
    client.wait("job_1", timeout=None, min_interval=0.5, settle=0)
    client.with_options(wait_timeout=math.inf, lateness=0.1)
    with client.watch("job_1") as watch:
        for job in watch:
            print(job["status"], job["source"]["ref"])
    watch.close()


def steps(client: agentjob.Client) -> Job:
    once = Once(client, SQLiteStore("steps.db"), rate="100/h")
    print(once.send_message("key", "job_1", "Add tests")["status"])
    for step in Once(client, "steps.db").steps(["key"], state="unknown"):
        once.resolve(step["key"], "arrived")
    print(once.poller("key", settle=1.0).due_in)
    return once.wait("key", timeout=None)


async def asynchronous(client: AsyncClient) -> Job:
    async with client.watch("job_1") as watch:
        async for job in watch:
            print(job["status"])
    await watch.aclose()
    if sys.version_info >= (3, 10):
        from contextlib import aclosing

        async with aclosing(client.watch("job_1")) as records:
            async for job in records:
                print(job["status"])
    async with client.send_all([{"job_id": "job_1", "prompt": "Add tests"}], journal="night.journal") as sending:
        async for outcome in sending:
            print(outcome["delivery"])
    return await client.wait("job_1")


class Vault:
    def read(self, name: str = "agentjob") -> str:
        return name


def keys() -> None:
    agentjob.Client(api_key="key_1")
    agentjob.Client(api_key=None, api_key_file="key")
    agentjob.Client(api_key=lambda: "key_1")
    agentjob.Client(api_key=Vault().read)
    AsyncClient(api_key=partial(Vault().read, "other"))
    with Emulator() as emulator:
        emulator.client(api_key=Vault().read, lateness=2)


def emulators() -> None:
    rules: List[Rule] = [{"method": "POST", "nth": 1, "status": 503}, {"from": 3, "fault": {"do": "close", "at": "request"}}]
    with Emulator(work_ms=20, outcome="failed", rules=rules, jobs=[{"id": "job_1", "branch": "x"}]) as emulator:
        emulator.reset(hourly_limit=3)
        emulator.client(timeout=3).get_job("job_1")


if TYPE_CHECKING:
    reveal = asyncio.run
