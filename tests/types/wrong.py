"""Mistakes of a user: every line that says `# wrong` must be an error of each type checker, and no other line may be one."""

from typing import List

import agentjob
from agentjob.aio import AsyncClient
from agentjob.once import Once
from agentjob.testing import Emulator
from agentjob.types import BatchItem


def batch(client: agentjob.Client, service: AsyncClient) -> None:
    client.send_all([{"job_id": "job_1", "promt": "Add tests"}], journal="j")  # wrong: misspelt
    client.send_all([{"job_id": "job_1"}], journal="j")  # wrong: prompt is missing
    client.send_all([{"job_id": "job_1", "prompt": "Add tests", "kye": "k"}], journal="j")  # wrong: misspelt, and optional
    client.send_all([{"job_id": "job_1", "prompt": 7}], journal="j")  # wrong: its type
    client.send_all([("job_1",)], journal="j")  # wrong: a tuple that is too short
    client.send_all(["job_1"], journal="j")  # wrong: no item at all
    service.send_all([{"job_id": "job_1", "promt": "Add tests"}], journal="j")  # wrong: misspelt
    items: List[BatchItem] = [{"job_id": "job_1", "promt": "Add tests"}]  # wrong: misspelt
    client.send_all(items, journal="j")


def waits(client: agentjob.Client) -> None:
    client.wait("job_1", timeout="forever")  # wrong: only "client" is a text
    client.wait("job_1", tiemout=3)  # wrong: misspelt
    client.get_job("job_1")["prlink"]  # wrong: the key is prLink
    client.get_job("job_1")["source"]["branch"]  # wrong: the key is ref


def steps(client: agentjob.Client) -> None:
    once = Once(client, "steps.db")
    once.send_message("key", "job_1")  # wrong: prompt is missing
    once.resolve("key", "drop")  # wrong: no resolution
    once.steps(state="finished")  # wrong: no state
    Once(client, 7)  # wrong: no store


async def asynchronous() -> str:
    return "key_1"


def named(name: str) -> str:
    return name


def keys(raw: bytes) -> None:
    agentjob.Client(api_key=7)  # wrong: neither a key nor a function
    agentjob.Client(api_key=raw)  # wrong: bytes
    agentjob.Client(api_key=asynchronous)  # wrong: a coroutine function
    agentjob.Client(api_key=lambda: raw)  # wrong: it returns bytes
    agentjob.Client(api_key=lambda: None)  # wrong: it returns no key
    agentjob.Client(api_key=named)  # wrong: it has an argument
    agentjob.Client(api_key=agentjob.Client)  # wrong: it returns no key
    AsyncClient(api_key=asynchronous)  # wrong: a coroutine function
    AsyncClient(api_key=lambda: raw)  # wrong: it returns bytes
    AsyncClient(api_key=named)  # wrong: it has an argument


def emulators() -> None:
    Emulator(work=20)  # wrong: it is work_ms
    Emulator(outcome="finished")  # wrong: no such outcome
    Emulator(rules=[{"metod": "POST"}])  # wrong: misspelt
    Emulator(rules=[{"fault": {"do": "explode", "at": "request"}}])  # wrong: no such fault
    Emulator().reset(work_ms="20")  # wrong: its type
    Emulator().client(timout=3)  # wrong: misspelt
    Emulator().client(timeout="3")  # wrong: its type
