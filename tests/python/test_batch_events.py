"""A batch's requests, polls and pauses reach on_event and the logger, each with its item: docs/events.md, "In a batch"."""

import asyncio
import logging
import threading

import pytest
from conftest import QUICK, wait_for

import agentjob
from agentjob.aio import AsyncClient
from agentjob.testing import Emulator

REFUSED_ONCE = {"method": "POST", "nth": 1, "status": 429, "headers": {"Retry-After": "1"}}
PAUSED = [
    ("attempt", 1, None),
    ("response", 1, 429),
    ("paused", None, None),
    ("attempt", 1, None),
    ("response", 1, 200),
    ("resumed", None, None),
    ("attempt", 2, None),
    ("response", 2, 200),
]


@pytest.fixture
def emulator():
    with Emulator(rules=[REFUSED_ONCE], jobs=[{"id": "job_1"}, {"id": "job_2"}], work_ms=100, hourly_limit=1000) as emulator:
        yield emulator


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


MESSAGES = [("job_1", "one"), ("job_2", "two")]


def facts(events):
    return [(event["event"], event.get("item"), event.get("status") if event["event"] == "response" else None) for event in events]


def test_on_event_gets_each_request_and_each_pause_of_a_batch_on_the_thread_that_iterates(emulator, journal):
    heard, threads, updates = [], set(), []

    def on_event(event):
        heard.append(event)
        threads.add(threading.get_ident())

    client = emulator.client(on_event=on_event)
    outcomes = list(client.send_all(MESSAGES, journal=journal, concurrency=1, on_update=updates.append))
    assert [outcome["delivery"] for outcome in outcomes] == ["accepted"] * 2
    assert facts(heard) == PAUSED
    assert threads == {threading.get_ident()}
    paused = heard[2]
    assert (paused["reason"], paused["error"]) == ("rate_limit", "the service returned 429")
    assert updates[0]["error"].reason.startswith("the service returned 429 ("), "the error also has the service's own words"
    assert 0 < paused["pause"] <= 1
    assert [update["event"] for update in updates] == ["paused", "resumed"], "on_update has each pause once"


def test_async_clients_hear_the_same(emulator, journal):
    heard = []

    async def send():
        async with AsyncClient.of(emulator.client(on_event=heard.append)) as client:
            batch = client.send_all(MESSAGES, journal=journal, concurrency=1)
            return [outcome["delivery"] async for outcome in batch]

    assert asyncio.run(send()) == ["accepted"] * 2
    assert facts(heard) == PAUSED


def test_the_logger_has_the_requests_at_debug_and_the_polls_at_info_and_each_pause_once(emulator, journal, caplog):
    def logged(level, name):
        caplog.clear()
        with caplog.at_level(level, "agentjob"):
            list(emulator.client().send_all(MESSAGES, journal=journal.with_name(name), concurrency=1, wait=True, **QUICK))
        return [record for record in caplog.records if record.name == "agentjob"]

    at_debug = logged(logging.DEBUG, "debug")
    names = [record.agentjob["event"] for record in at_debug]
    assert {"attempt", "response", "poll"} <= set(names) and names.count("paused") == names.count("resumed") == 1
    assert at_debug[0].getMessage() == "send_message job_1 (item 1): request 1"
    assert at_debug[0].agentjob == {"event": "attempt", "operation": "send_message", "job_id": "job_1", "attempt": 1, "item": 1}
    emulator.reset(rules=[REFUSED_ONCE], jobs=[{"id": "job_1"}, {"id": "job_2"}], work_ms=100, hourly_limit=1000)
    names = {record.agentjob["event"] for record in logged(logging.INFO, "info")}
    assert names == {"poll", "paused", "resumed"}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_exception_from_on_event_stops_the_batch_and_loses_no_outcome(emulator, journal, asynchronous):
    emulator.reset(jobs=[{"id": f"job_{n}"} for n in range(1, 31)], hourly_limit=1000)
    items = [(f"job_{n}", "prompt") for n in range(1, 31)]
    raised = ValueError("mine")

    def on_event(event):
        if event["event"] == "response" and event["item"] == 3:
            raise raised

    def sync():
        batch = emulator.client(on_event=on_event).send_all(items, journal=journal, concurrency=1)
        with pytest.raises(ValueError) as caught:
            list(batch)
        return caught.value, list(batch)

    async def on_a_loop():
        async with AsyncClient.of(emulator.client(on_event=on_event)) as client:
            batch = client.send_all(items, journal=journal, concurrency=1)
            with pytest.raises(ValueError) as caught:
                [outcome async for outcome in batch]
            return caught.value, [outcome async for outcome in batch]

    caught, rest = asyncio.run(on_a_loop()) if asynchronous else sync()
    assert caught is raised and all(outcome["delivery"] == "accepted" for outcome in rest)
    again = list(emulator.client().send_all(items, journal=journal))
    assert [outcome["delivery"] for outcome in again] == ["accepted"] * 30 and len(emulator.ledger()) == 30


def test_a_single_calls_events_have_no_item(emulator):
    heard = []
    with pytest.raises(agentjob.RateLimitError):
        emulator.client(on_event=heard.append, max_retries=0).send_message("job_1", "one")
    assert heard and all("item" not in event for event in heard)


def test_a_batch_whose_client_only_listens_to_warnings_reports_nothing_else(emulator, journal):
    rules = [{"method": "GET", "status": 200, "body": "<html>Log in</html>"}]

    def polls_often(warned, warnings, call):
        """Cancels the call when it has polled 20 times and warned so often."""
        emulator.reset(rules=rules, jobs=[{"id": "job_1"}, {"id": "job_2"}])
        token = agentjob.CancelToken()

        def end():
            try:
                wait_for(lambda: emulator.requests()["total"] >= 20 and len(warned) >= warnings, "it has polled often")
            finally:
                token.cancel()

        thread = threading.Thread(target=end)
        thread.start()
        with pytest.raises(agentjob.CancelledError):
            call(cancel=token, **QUICK)
        thread.join()

    heard, batches = [], []
    client = emulator.client()._warning_to(heard.append)

    def run(**options):
        batches.append(client.send_all(MESSAGES, journal=journal, wait=True, **options))
        list(batches[0])

    polls_often(heard, 2, run)
    assert batches[0].progress()["accepted"] == 2
    assert sorted((event["event"], event["consecutive_failures"], event["item"]) for event in heard) == [("poll", 5, 1), ("poll", 5, 2)]
    heard_all, warned = [], []
    client = emulator.client(on_event=heard_all.append)._warning_to(warned.append)
    polls_often(warned, 1, lambda **options: client.wait("job_1", **options))
    assert len(warned) == 1 and warned[0] in heard_all and len(heard_all) > 10
