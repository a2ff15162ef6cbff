"""What is decided about the messages of a batch between its runs, from Python."""

import asyncio
import csv
import io
import json

import pytest

import agentjob
from agentjob.testing import Emulator

#: Job 2's message is lost after it arrived, job 3's before it is processed, job 4's is rejected; each only the first time.
LOST = {"do": "close", "at": "request"}
RULES = [
    {"method": "POST", "path": "/v2/agent/*/job/job_2/message", "nth": 1, "fault": {**LOST, "process": True}},
    {"method": "POST", "path": "/v2/agent/*/job/job_3/message", "nth": 1, "fault": {**LOST, "process": False}},
    {"method": "POST", "path": "/v2/agent/*/job/job_4/message", "nth": 1, "status": 422},
]
ITEMS = [{"job_id": f"job_{n}", "prompt": f"message {n}", "key": "tests" if n == 4 else None} for n in range(1, 6)]


@pytest.fixture
def service():
    with Emulator(work_ms=20, hourly_limit=100_000, jobs=[{"id": f"job_{n}"} for n in range(1, 6)], rules=RULES) as emulator:
        yield emulator


@pytest.fixture
def client(service):
    with service.client() as client:
        yield client


@pytest.fixture
def journal(client, tmp_path):
    """Of a run these failures."""
    journal = tmp_path / "night.journal"
    assert deliveries(client, journal) == ["accepted", "unknown", "unknown", "rejected", "accepted"]
    return journal


def deliveries(client, journal, **options):
    outcomes = sorted(client.send_all(ITEMS, journal=journal, **options), key=lambda outcome: outcome["item"])
    return [outcome["delivery"] for outcome in outcomes]


def sent(service):
    return sorted(message["prompt"] for message in service.ledger())


def test_each_decision_has_its_effect_on_the_next_run(service, client, journal):
    (made,) = agentjob.batch_resolve(journal, [2], "arrived")
    assert {name: made[name] for name in ("item", "job_id", "decision")} == {"item": 2, "job_id": "job_2", "decision": "arrived"}
    assert list(made) == ["item", "key", "job_id", "decision", "at"]
    agentjob.batch_resolve(journal, (n for n in [3]), "not_arrived")
    (made,) = agentjob.batch_retry(journal, ["tests"])
    assert (made["item"], made["key"], made["decision"]) == (4, "tests", "retry")
    status = agentjob.batch_status(journal)
    assert [(made["item"], made["decision"]) for made in status["decisions"]] == [(2, "arrived"), (3, "not_arrived"), (4, "retry")]
    assert (status["progress"]["left"], status["unknown"], status["rejected"], status["new_prompts"]) == (2, [], [], 0)
    assert deliveries(client, journal) == ["accepted"] * 5
    assert sent(service) == [f"message {n}" for n in range(1, 6)]


def test_a_retry_needs_its_prompt_and_takes_no_other(service, client, journal):
    agentjob.batch_retry(journal, [4], "a better message")
    assert "better" not in journal.read_text() and agentjob.batch_status(journal)["new_prompts"] == 1
    for prompts in (None, ["another one"], ["a better message", "another one"]):
        with pytest.raises(agentjob.InvalidArgumentError):
            client.send_all(ITEMS, journal=journal, retry_prompts=prompts)
    agentjob.batch_drop(journal, [2, 3])
    assert deliveries(client, journal, retry_prompts=["a better message"]) == ["accepted"] * 3
    assert "a better message" in sent(service) and "message 4" not in sent(service)
    assert agentjob.batch_status(journal)["progress"]["dropped"] == 2


def test_an_asynchronous_program_decides_on_a_thread(service, journal):
    async def decide():
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, agentjob.batch_resolve, journal, "all", "resend")
        await loop.run_in_executor(None, agentjob.batch_retry, journal, "all", "a better message")
        async with agentjob.aio.AsyncClient.of(service.client()) as client:
            batch = client.send_all(ITEMS, journal=journal, retry_prompts=["a better message"])
            return sorted([outcome["delivery"] async for outcome in batch])

    assert asyncio.run(decide()) == ["accepted"] * 5
    assert sent(service).count("message 2") == 2 and sent(service).count("a better message") == 1


@pytest.mark.parametrize("decide, error", [
    (lambda journal: agentjob.batch_resolve(journal, [], "arrived"), "no item is named"),
    (lambda journal: agentjob.batch_resolve(journal, [2, 9], "arrived"), "item 9 is not in the journal"),
    (lambda journal: agentjob.batch_resolve(journal, [2, "nobody"], "arrived"), 'item "nobody" is not in the journal'),
    (lambda journal: agentjob.batch_resolve(journal, [2, 1], "arrived"), "item 1 cannot be decided: its message was accepted"),
    (lambda journal: agentjob.batch_resolve(journal, [2, 4], "arrived"), "item 4 cannot be decided: its message was rejected"),
    (lambda journal: agentjob.batch_resolve(journal, [2, 2], "arrived"), "item 2 is named twice"),
    (lambda journal: agentjob.batch_resolve(journal, [2], "dropped"), 'resolution is "dropped". Give arrived, not_arrived or resend.'),
    (lambda journal: agentjob.batch_resolve(journal, "tests", "arrived"), 'items is a str, but not "all"'),
    (lambda journal: agentjob.batch_retry(journal, [2]), "item 2 cannot be decided: its message was not rejected"),
    (lambda journal: agentjob.batch_retry(journal, [4, "tests"]), 'item 4 and item "tests" are the same item'),
    (lambda journal: agentjob.batch_retry(journal, [4], ""), "prompt is empty"),
    (lambda journal: agentjob.batch_drop(journal, [5]), "item 5 cannot be decided: its message was accepted"),
    (lambda journal: agentjob.batch_drop(journal, [1 << 64]), "a number in items is too large"),
    (lambda journal: agentjob.batch_drop(journal, ["\ud800"]), "items contains a lone surrogate"),
    (lambda journal: agentjob.batch_export(journal, items="\ud800"), "items contains a lone surrogate"),
    (lambda journal: agentjob.batch_export(journal, "xml"), 'format is "xml". Give csv or jsonl.'),
    (lambda journal: agentjob.batch_export(journal, "csv", [9]), "item 9 is not in the journal"),
])
def test_a_bad_decision_is_named_and_nothing_is_written(journal, decide, error):
    before = journal.read_bytes()
    with pytest.raises(agentjob.InvalidArgumentError) as raised:
        decide(journal)
    assert error in str(raised.value) and journal.read_bytes() == before


@pytest.mark.parametrize("items", [4, None, [1.5], [True], [None], [-1], b"all"])
def test_items_of_a_wrong_type_are_refused(journal, items):
    with pytest.raises((TypeError, agentjob.InvalidArgumentError)):
        agentjob.batch_drop(journal, items)


def test_nothing_is_decided_while_a_run_is_active_or_without_a_journal(client, journal, tmp_path):
    with client.send_all([*ITEMS, ("job_1", "one more")], journal=journal, rate="1/d"):
        with pytest.raises(agentjob.JournalError, match="in use by .*another run, process .* Stop that run"):
            agentjob.batch_drop(journal, [4])
    with pytest.raises(agentjob.JournalError, match="does not exist"):
        agentjob.batch_drop(tmp_path / "other", [4])
    assert not (tmp_path / "other").exists()


def test_the_export_is_csv_or_json_lines(journal):
    agentjob.batch_drop(journal, [3])
    records = [json.loads(line) for line in agentjob.batch_export(journal).splitlines()]
    assert [(record["item"], record["state"]) for record in records] == [
        (1, "accepted"), (2, "unknown"), (3, "dropped"), (4, "rejected"), (5, "accepted")
    ]
    assert (records[3]["key"], records[3]["http_status"], records[2]["decision"]) == ("tests", 422, "drop")
    rows = list(csv.DictReader(io.StringIO(agentjob.batch_export(journal, "csv"), newline="")))
    assert [{name: value or None for name, value in row.items()} for row in rows] == [
        {name: None if value is None else str(value) for name, value in record.items()} for record in records
    ]
    (named,) = agentjob.batch_export(journal, items=["tests"]).splitlines()
    assert json.loads(named) == records[3]


def test_failed_jobs_are_counted_and_named(tmp_path):
    failed = {"method": "GET", "path": "/v2/agent/*/job/job_2", "status": 200, "json": {"id": "job_2", "status": "failed"}}
    with Emulator(work_ms=20, jobs=[{"id": "job_1"}, {"id": "job_2"}], rules=[failed]) as emulator, emulator.client() as client:
        quick = {"min_interval": 0.02, "max_interval": 0.05, "settle": 0.1}
        batch = client.send_all(ITEMS[:2], journal=tmp_path / "run", wait=True, **quick)
        assert len(list(batch)) == 2 and batch.progress()["failed"] == 1
    status = agentjob.batch_status(tmp_path / "run")
    assert status["progress"]["failed"] == 1 and [item["job_id"] for item in status["failed"]] == ["job_2"]


def test_a_number_that_is_another_item_s_key_is_explained(client, tmp_path):
    journal = tmp_path / "night.journal"
    list(client.send_all([{"job_id": "job_4", "prompt": "message", "key": "17"}], journal=journal))
    with pytest.raises(agentjob.InvalidArgumentError) as refused:
        agentjob.batch_drop(journal, [17])
    assert str(refused.value) == "item 17 is not in the journal. Item 1 has that key: name it by its number, or write key:17."
    assert agentjob.batch_drop(journal, ["17"])[0]["item"] == 1
