"""A key that changes while a client uses it."""

import asyncio
import json
import os

import pytest

import agentjob
from agentjob.aio import AsyncClient
from agentjob.testing import Emulator
from conftest import PATIENCE, QUICK, read_until
from test_cli import start

OLD, NEW = "old9walrus5ginger", "new7zebra3quilted"


@pytest.fixture
def emulator():
    with Emulator(api_key=OLD, work_ms=200) as emulator:
        yield emulator


class KeyFile:
    """A file with a key, that is replaced as secret stores do."""

    def __init__(self, path):
        self.path = path
        self.put(OLD)

    def put(self, key):
        with open(os.open(self.path.with_name("next"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            file.write(key + "\n")
        self.path.with_name("next").replace(self.path)


@pytest.fixture
def key(tmp_path):
    return KeyFile(tmp_path / "key")


def statuses(emulator):
    return [request["status"] for request in emulator.requests()["requests"]]


def rotate_at_401(key):
    def on_event(event):
        if event["event"] == "response" and event["status"] == 401:
            key.put(NEW)

    return on_event


def test_the_next_call_sends_the_files_new_key(emulator, key):
    with emulator.client(api_key_file=key.path) as client:
        client.send_message("job_demo", "one")
        emulator.set_api_key(NEW)
        key.put(NEW)
        client.send_message("job_demo", "two")
        assert client.wait("job_demo", **QUICK)["status"] == "completed"
    assert set(statuses(emulator)) <= {200, 202} and len(emulator.ledger()) == 2


def test_a_401_is_followed_by_one_request_with_the_new_key(emulator, key):
    with emulator.client(api_key_file=key.path, max_retries=0, on_event=rotate_at_401(key)) as client:
        emulator.set_api_key(NEW)
        client.send_message("job_demo", "one")
        emulator.set_api_key("a_third_key")
        with pytest.raises(agentjob.AuthenticationError) as caught:
            client.send_message("job_demo", "two")
    assert (caught.value.delivery, caught.value.attempts) == ("rejected", 1)
    assert statuses(emulator).count(401) == 2 and len(emulator.ledger()) == 1
    assert OLD not in str(caught.value.to_dict()) and NEW not in str(caught.value.to_dict())


def test_a_401_of_an_async_client_is_followed_by_one_request_with_the_new_key(emulator, key):
    async def main():
        settings = {"base_url": emulator.base_url, "project_id": "demo", "trust_env": False, "max_retries": 0}
        async with AsyncClient(**settings, api_key_file=key.path, on_event=rotate_at_401(key)) as client:
            emulator.set_api_key(NEW)
            return await client.send_message("job_demo", "one")

    assert asyncio.run(main())["id"] == "job_demo"
    assert statuses(emulator) == [401, 200] and len(emulator.ledger()) == 1


def test_an_async_client_and_its_batch_continue_over_a_rotation(emulator, key, tmp_path):
    async def main():
        settings = {"base_url": emulator.base_url, "project_id": "demo", "trust_env": False}
        async with AsyncClient(**settings, api_key_file=key.path) as client:
            await client.send_and_wait("job_demo", "one", **QUICK)
            key.put(NEW)
            emulator.set_api_key(NEW)
            items = [("job_demo", f"prompt {n}") for n in range(3)]
            batch = client.send_all(items, journal=tmp_path / "journal", wait=True, **QUICK)
            return [outcome["delivery"] async for outcome in batch]

    assert asyncio.run(main()) == ["accepted"] * 3
    assert 401 not in statuses(emulator) and len(emulator.ledger()) == 4


def test_a_401_with_a_bad_key_file_says_what_is_wrong_with_the_file(emulator, key):
    with emulator.client(api_key_file=key.path) as client:
        emulator.set_api_key(NEW)
        key.put("")
        with pytest.raises(agentjob.AuthenticationError) as caught:
            client.send_message("job_demo", "one")
    assert "a new one could not be read: the key in api_key_file" in caught.value.hint
    assert str(key.path) in caught.value.hint and "is empty" in caught.value.hint


def test_a_command_that_waits_continues_over_a_rotation(key):
    active = {"id": "job_demo", "status": "active"}
    with Emulator(api_key=OLD, jobs=[{**active, "finish_after_ms": 3000}]) as emulator:
        flags = ["--api-key-file", str(key.path), "--min-interval", "0.02", "--max-interval", "0.02", "--json-events"]
        process = start(emulator, "wait", "job_demo", *flags, env={"AGENTJOB_API_KEY": ""})
        read_until(process.stderr, '"poll"')
        # The file first: whichever poll comes next finds the new key, or is refused and then finds it.
        key.put(NEW)
        emulator.set_api_key(NEW)
        out, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and json.loads(out)["status"] == "completed"
