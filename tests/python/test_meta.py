"""The metadata of a success: meta=… of every call, in the sync and the async client."""

import asyncio
import threading

import pytest

import agentjob
from agentjob.aio import AsyncClient
from agentjob.testing import Emulator
from conftest import QUICK

RULES = [
    {"method": "POST", "nth": 1, "status": 429, "headers": {"Retry-After": "0"}},
    {"method": "POST", "nth": 2, "status": 200, "headers": {"X-Request-Id": "r-2", "X-Region": "eu", "Set-Cookie": "a=walrus"}},
    {"method": "POST", "nth": 4, "status": 404},
]
ACCEPTED = ["agentjob: the message was accepted; do not send it again"]


def check(found, job, key):
    assert list(found) == list(agentjob.types.ResponseMeta.__annotations__)
    assert (found["operation"], found["job_id"], found["status"]) == ("send_message", "job_demo", 200)
    assert (found["request_id"], found["attempts"], found["headers"]["x-region"]) == ("r-2", 2, "eu")
    assert found["headers"]["set-cookie"] == "***" and found["headers_cut"] is False
    assert found["bytes"] > 50 and list(found["timings"]) == ["first_byte"]
    assert 0 < found["timings"]["first_byte"] <= found["elapsed"]
    assert job["id"] == "job_demo" and key not in repr(found) and "secret plan" not in repr(found) and "walrus" not in repr(found)


def test_every_call_has_it_and_a_failure_has_not(emulator):
    emulator.reset(work_ms=60, rules=RULES)
    client, seen = emulator.client(), []
    check_job = client.send_message("job_demo", "secret plan", meta=seen.append)
    check(seen.pop(), check_job, emulator.api_key)
    new = client.create_job("go", meta=seen.append)
    assert [(meta["operation"], meta["status"], meta["job_id"]) for meta in seen] == [("create_job", 201, new["id"])]
    with pytest.raises(agentjob.NotFoundError):
        client.send_message("job_demo", "go", meta=seen.append)
    assert len(seen) == 1
    meta = {}
    client.get_job("job_demo", meta=meta.update)
    assert meta["operation"] == "get_job" and meta["status"] == 200
    seen.clear()
    assert client.send_and_wait("job_demo", "go", meta=seen.append, **QUICK)["status"] == "completed"
    assert [one["operation"] for one in seen] == ["send_message"] + ["get_job"] * (len(seen) - 1) and len(seen) > 1
    for wait in (
        lambda: client.wait("job_demo", meta=seen.append, **QUICK),
        lambda: list(client.watch("job_demo", meta=seen.append, **QUICK)),
        lambda: client.poller("job_demo", settle=0).poll(meta=seen.append),
    ):
        seen.clear()
        wait()
        assert seen and {one["operation"] for one in seen} == {"get_job"}


def test_asyncio_calls_it_in_the_loops_thread_and_awaits_it(emulator):
    emulator.reset(work_ms=60, rules=RULES)
    seen, threads = [], set()

    async def keep(meta):
        await asyncio.sleep(0)
        threads.add(threading.get_ident())
        seen.append(meta)

    async def main():
        async with AsyncClient.of(emulator.client()) as client:
            job = await client.send_message("job_demo", "secret plan", meta=keep)
            check(seen.pop(), job, emulator.api_key)
            new = await client.create_job("go", meta=seen.append)
            assert seen.pop()["job_id"] == new["id"]
            with pytest.raises(agentjob.NotFoundError):
                await client.send_message("job_demo", "go", meta=keep)
            await client.get_job("job_demo", meta=keep)
            await client.send_and_wait("job_demo", "go", meta=keep, **QUICK)
            await client.wait("job_demo", meta=keep, **QUICK)
            async for _ in client.watch("job_demo", meta=keep, **QUICK):
                pass
            await client.poller("job_demo", settle=0).poll(meta=keep)
            kinds = [meta["operation"] for meta in seen]
            assert kinds[:2] == ["get_job", "send_message"] and set(kinds[2:]) == {"get_job"} and len(kinds) >= 6
            with pytest.raises(TypeError, match="meta must be callable, not str"):
                await client.get_job("job_demo", meta="x")

    asyncio.run(main())
    assert threads == {threading.get_ident()}


def test_an_exception_from_it_is_raised_with_the_verdict(emulator):
    raised = ZeroDivisionError("mine")

    def stop(meta):
        raise raised

    client = emulator.client()
    for call, notes in [
        (lambda: client.send_message("job_demo", "go", meta=stop), ACCEPTED),
        (lambda: client.send_and_wait("job_demo", "go", meta=stop), ACCEPTED),
        (lambda: client.get_job("job_demo", meta=stop), []),
        (lambda: client.wait("job_busy", meta=stop), []),
        (lambda: next(client.watch("job_busy", meta=stop)), []),
        (lambda: asyncio.run(AsyncClient.of(client).send_message("job_demo", "go", meta=stop)), ACCEPTED),
    ]:
        raised.__dict__.clear()
        with pytest.raises(ZeroDivisionError) as caught:
            call()
        assert caught.value is raised and getattr(raised, "__notes__", []) == notes
    with pytest.raises(TypeError, match="meta must be callable, not int"):
        client.send_message("job_demo", "go", meta=3)
    assert [message["prompt"] for message in emulator.ledger()] == ["go"] * 3


def test_threads_have_their_own(client):
    def work(found):
        for _ in range(20):
            client.get_job("job_demo", meta=found.append)

    lists = [[] for _ in range(8)]
    workers = [threading.Thread(target=work, args=(found,)) for found in lists]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [len(found) for found in lists] == [20] * 8


def test_headers_are_bounded_and_without_the_key():
    key = "adm_zebra7quilt4mango9"
    headers = {"X-Echo": f"Bearer {key}", "X-Long": "v" * 5000}
    with Emulator(api_key=key, rules=[{"status": 200, "headers": headers}]) as emulator:
        found = {}
        emulator.client(api_key=key).get_job("job_demo", meta=found.update)
    assert found["headers"]["x-echo"] == "Bearer ***" and found["headers"]["x-long"] == "v" * 2048 and found["headers_cut"] is True
    assert "quilt4" not in repr(found)
