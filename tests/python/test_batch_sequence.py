"""Messages to one job in Client.send_all: the rows of the table in docs/reference/batches.md."""

import asyncio
import contextlib
import json
import signal
import time

import pytest
from conftest import PATIENCE, unix, wait_for
from conftest import QUICK as QUICK_POLLS
from test_cli import QUICK as QUICK_FLAGS
from test_cli import run, start

import agentjob
from agentjob import aio
from agentjob.testing import Emulator

QUICK = {**QUICK_POLLS, "settle": 0.3}
#: The first message to job a is processed, and its response is lost.
LOST = {"method": "POST", "path": "/v2/agent/*/job/a/message", "nth": 1, "fault": {"do": "close", "at": "request", "process": True}}
JOBS = [{"id": "a"}, {"id": "b"}, {"id": "stuck", "status": "active"}]


@contextlib.contextmanager
def service(**config):
    with Emulator(**{"jobs": JOBS, "work_ms": 300, "busy": True, **config}) as emulator, emulator.client() as client:
        yield emulator, client


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


def messages(*jobs):
    return [(job, f"message {n}") for n, job in enumerate(jobs, 1)]


def by_item(outcomes):
    outcomes = sorted(outcomes, key=lambda outcome: outcome["item"])
    assert [outcome["item"] for outcome in outcomes] == list(range(1, len(outcomes) + 1))
    return outcomes


def deliveries(outcomes):
    return [outcome["delivery"] for outcome in by_item(outcomes)]


def links(emulator):
    return {message["prompt"]: message["pr_link"] for message in emulator.ledger()}


#: What a service does, the messages' deliveries, the prompts that it processed; those to one job in this order.
TABLE = {
    "accepted": ({}, ["accepted"] * 3, [1, 2, 3]),
    "its job failed": ({"outcome": "failed"}, ["accepted"] * 3, [1, 2, 3]),
    "rejected": ({"rules": [{"method": "POST", "path": "/v2/agent/*/job/a/message", "nth": 1, "status": 400}]}, ["rejected", "accepted", "accepted"], [2, 3]),
    "its job is busy": (
        {"jobs": [{"id": "a", "status": "active", "finish_after_ms": 3000}, {"id": "b"}]},
        ["accepted"] * 3,
        [3, 1, 2],
    ),
    "its job stays busy": ({"jobs": [{"id": "a", "status": "active"}, {"id": "b"}]}, ["rejected", "rejected", "accepted"], [3]),
    "unknown": ({"rules": [LOST]}, ["unknown", "not_sent", "accepted"], [1, 3]),
    "its wait ended without a result": ({"rules": [{"method": "GET", "path": "/v2/agent/*/job/a", "nth": 1, "status": 400}]}, ["accepted", "not_sent", "accepted"], [1, 3]),
}


@pytest.mark.parametrize("row", TABLE)
def test_what_happens_to_a_jobs_next_messages(journal, row):
    config, expected, processed = TABLE[row]
    heard = []
    with service(**config) as (emulator, client):
        options = {"journal": journal, "wait": True, "concurrency": 1, "on_update": heard.append, **QUICK}
        options["max_busy"] = 0.5 if row == "its job stays busy" else PATIENCE
        outcomes = by_item(client.send_all(messages("a", "a", "b"), **options))
        assert deliveries(outcomes) == expected
        sent = [int(message["prompt"].removeprefix("message ")) for message in emulator.ledger()]
        assert [n for n in sent if n != 3] == [n for n in processed if n != 3]
        assert sorted(sent) == sorted(processed)
        if row == "its job is busy":
            assert [update["item"] for update in heard if update["event"] == "busy"] == [1]
            assert sent[0] == 3, "the other job's message does not wait"
        own = links(emulator)
        for outcome in outcomes:
            if outcome["delivery"] == "accepted" and outcome["error"] is None:
                assert outcome["job"]["prLink"] == own[f"message {outcome['item']}"], outcome
        for outcome in outcomes:
            if outcome["delivery"] == "not_sent":
                assert type(outcome["error"]) is agentjob.ConflictError and outcome["error"].delivery == "not_sent"
                assert "item 1, to the same job" in str(outcome["error"]) or "the wait for item 1" in str(outcome["error"])


def test_a_held_message_is_sent_once_the_one_before_it_is_settled(journal):
    with service(rules=[LOST]) as (emulator, client):
        options = {"journal": journal, "wait": True, **QUICK}
        for _ in range(2):
            assert deliveries(client.send_all(messages("a", "a", "b"), **options)) == ["unknown", "not_sent", "accepted"]
        assert agentjob.batch_status(journal)["progress"]["left"] == 1
        assert deliveries(client.send_all(messages("a", "a", "b"), resend_unknown=True, **options)) == ["accepted"] * 3


def test_a_busy_job_is_reported_and_counted(journal):
    heard = []
    with service() as (_, client):
        # One at a time: the busy job's 409 comes before the other message is sent.
        options = {"wait": True, "concurrency": 1, "on_update": heard.append, **QUICK}
        with client.send_all(messages("stuck", "a"), journal=journal, **options) as batch:
            assert next(batch)["item"] == 2, "the other job's message does not wait"
            assert batch.progress()["busy"] == 1 and batch.progress()["left"] == 1
        (busy,) = [update for update in heard if update["event"] == "busy"]
        assert (busy["item"], busy["job_id"]) == (1, "stuck")
        assert type(busy["error"]) is agentjob.ConflictError and busy["error"].http_status == 409
        status = agentjob.batch_status(journal)["progress"]
        assert (status["busy"], status["left"], status["unknown"]) == (1, 1, 0)
        assert deliveries(client.send_all(messages("stuck", "a"), journal=journal, max_busy=0)) == ["rejected", "accepted"]


def test_asyncio_has_the_same(journal):
    async def main(emulator, client):
        async with aio.AsyncClient.of(client) as fast:
            batch = fast.send_all(messages("stuck", "a", "a"), journal=journal, wait=True, max_busy=0.5, **QUICK)
            async with batch:
                return [outcome async for outcome in batch]

    with service() as (emulator, client):
        outcomes = by_item(asyncio.run(main(emulator, client)))
        assert deliveries(outcomes) == ["rejected", "accepted", "accepted"]
        assert [outcome["job"]["prLink"] for outcome in outcomes[1:]] == [links(emulator)[f"message {n}"] for n in (2, 3)]


def test_an_interrupted_loop_leaves_a_busy_job_and_a_waiting_one_to_the_next_run(journal):
    endings = {"break": None, "exception": KeyError("mine"), "ctrl-c": KeyboardInterrupt()}
    for name, raised in endings.items():
        path = journal.with_name(name)
        with service(work_ms=60_000, jobs=[*JOBS, {"id": "c"}]) as (emulator, client):
            began = time.monotonic()
            with contextlib.suppress(KeyError, KeyboardInterrupt):
                with client.send_all(messages("stuck", "a", "a", "nobody"), journal=path, wait=True, **QUICK) as batch:
                    for outcome in batch:
                        assert outcome["delivery"] == "rejected"
                        wait_for(lambda batch=batch: batch.progress()["waiting"] == 1, "a works")
                        wait_for(lambda batch=batch: batch.progress()["busy"] == 1, "one is busy")
                        if raised is not None:
                            raise raised
                        break
            assert time.monotonic() - began < PATIENCE
            progress = agentjob.batch_status(path)["progress"]
            assert (progress["accepted"], progress["rejected"], progress["left"], progress["unknown"]) == (1, 1, 2, 0), name
            assert len(emulator.ledger()) == 1


def write(path, *jobs):
    path.write_text("".join(json.dumps({"job_id": job, "prompt": prompt}) + "\n" for job, prompt in messages(*jobs)))
    return str(path)


def test_the_command_line_has_max_busy_and_says_what_is_held(tmp_path, journal):
    with service() as (emulator, _):
        file = write(tmp_path / "list.jsonl", "stuck", "a")
        flags = ["batch", "run", file, "--journal", str(journal), "--wait", *QUICK_FLAGS]
        status, out, err = run(emulator, *flags, "--max-busy", "0.5")
        assert status == 3 and deliveries(map(json.loads, out.splitlines())) == ["rejected", "accepted"]
        assert "409" in err and "(max_busy)" in err
        assert run(emulator, *flags, "--max-busy", "-1")[0] == 2
    with service(rules=[LOST]) as (emulator, _):
        file = write(tmp_path / "list.jsonl", "a", "a")
        status, out, err = run(emulator, "batch", "run", file, "--journal", str(tmp_path / "other"))
        assert status == 5 and deliveries(map(json.loads, out.splitlines())) == ["unknown", "not_sent"]
        assert "item 2 (a, line 2): message to job a was not sent: item 1, to the same job, may have arrived" in err
        assert "1 held behind another message to the same job" in err


@unix
def test_ctrl_c_while_a_job_is_busy_ends_the_command_and_the_next_run_continues(tmp_path, journal):
    with service() as (emulator, _):
        file = write(tmp_path / "list.jsonl", "stuck", "a", "a")
        flags = ["batch", "run", file, "--journal", str(journal), "--wait", *QUICK_FLAGS]
        process = start(emulator, *flags)
        wait_for(lambda: journal.exists() and b'"not_sent"' in journal.read_bytes(), "the job is busy")
        wait_for(lambda: len(emulator.ledger()) == 2, "the others are sent")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 130
        progress = agentjob.batch_status(journal)["progress"]
        assert (progress["accepted"], progress["unknown"], progress["left"]) == (2, 0, 1)
        status, out, _ = run(emulator, *flags, "--max-busy", "0.3")
        assert status == 3 and deliveries(map(json.loads, out.splitlines())) == ["rejected", "accepted", "accepted"]
