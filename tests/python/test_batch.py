"""Client.send_all: many messages, each at most once, whatever ends the process."""

import copy
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import MAY_TRACE, PATIENCE, QUICK, tried, wait_for

import agentjob
from agentjob.testing import Emulator

#: A request that stays in flight until something ends it.
STALL = {"method": "POST", "fault": {"do": "stall", "at": "request"}}


@pytest.fixture
def emulator():
    jobs = [{"id": f"job_{n}"} for n in range(1, 41)]
    with Emulator(work_ms=300, jobs=jobs, hourly_limit=100_000) as emulator:
        yield emulator


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


def messages(count):
    return [(f"job_{n}", f"prompt {n}") for n in range(1, count + 1)]


def by_item(outcomes):
    return sorted(outcomes, key=lambda outcome: outcome["item"])


def sent(emulator):
    return sorted(message["prompt"] for message in emulator.ledger())


def test_a_batch_is_sent_once_and_a_second_run_sends_none_of_it(client, emulator, journal):
    items = [*messages(6), ("nobody", "prompt 7", "mine")]
    first = by_item(client.send_all(items, journal=journal))
    assert [(o["item"], o["job_id"], o["delivery"], o["earlier"]) for o in first] == [
        *((n, f"job_{n}", "accepted", False) for n in range(1, 7)),
        (7, "nobody", "rejected", False),
    ]
    assert all(o["job"]["id"] == o["job_id"] and o["error"] is None and o["line"] is None for o in first[:6])
    lost = first[6]
    assert lost["job"] is None and lost["key"] == "mine"
    assert type(lost["error"]) is agentjob.NotFoundError and lost["error"].delivery == "rejected"
    assert sent(emulator) == [f"prompt {n}" for n in range(1, 7)]

    again = by_item(client.send_all(items, journal=os.fspath(journal)))
    assert all(outcome.pop("earlier") for outcome in again)
    stored = ("id", "status", "prLink", "createdAt", "archivedAt")
    known = [[(o["key"], o["delivery"], o["job"] and [o["job"][name] for name in stored]) for o in run] for run in (first, again)]
    assert known[0] == known[1]
    # The service's own words are not in the journal.
    assert type(again[6]["error"]) is agentjob.NotFoundError and "job nobody was rejected: the service returned 404. Check" in str(again[6]["error"])
    assert (again[6]["error"].delivery, again[6]["error"].http_status) == ("rejected", 404)
    assert len(emulator.ledger()) == 6


def test_a_damaged_journal_is_reported_first_and_its_message_is_unknown(client, emulator, journal):
    list(client.send_all(messages(3), journal=journal, concurrency=1))
    os.truncate(journal, os.path.getsize(journal) - 3)
    dropped = agentjob.batch_status(journal)["dropped_bytes"]
    assert dropped > 100
    heard = []
    outcomes = by_item(client.send_all(messages(3), journal=journal, on_update=heard.append))
    assert [outcome["delivery"] for outcome in outcomes] == ["accepted", "accepted", "unknown"]
    assert [update["event"] for update in heard] == ["recovered"]
    assert (heard[0]["dropped_bytes"], heard[0]["journal_line"], heard[0]["unknown"]) == (dropped, 7, 0)
    assert heard[0]["progress"]["items"] == 3
    status = agentjob.batch_status(journal)
    assert (status["dropped_bytes"], status["progress"]["unknown"]) == (dropped, 1)
    assert len(emulator.ledger()) == 3


def test_a_batch_keeps_its_journal_when_the_program_goes_elsewhere(client, emulator, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with client.send_all(messages(5), journal="journal", concurrency=1) as batch:
        next(batch)
        monkeypatch.chdir(tmp_path / "elsewhere")
        assert sum(1 for outcome in batch if outcome["delivery"] == "accepted") == 4
    assert agentjob.batch_status(tmp_path / "journal")["progress"]["accepted"] == 5


SETTINGS = [
    ({"rate": 100}, TypeError, "rate must be a str, not int"),
    ({"rate": "100 an hour"}, agentjob.InvalidArgumentError, 'rate is "100 an hour"'),
    ({"concurrency": 65}, agentjob.InvalidArgumentError, "concurrency is 65. Give 1 to 64."),
    ({"concurrency": -1}, agentjob.InvalidArgumentError, "concurrency is negative"),
    ({"wait": 1}, TypeError, "wait must be True or False, not int"),
    ({"timeout": "1"}, TypeError, "timeout must be a number, not str"),
    ({"resend_unknown": None}, TypeError, "resend_unknown must be True or False, not NoneType"),
    ({"max_outage": 0}, agentjob.InvalidArgumentError, "max_outage is 0"),
    ({"grace": -1}, agentjob.InvalidArgumentError, "grace is -1"),
    ({"on_update": "print"}, TypeError, "on_update must be callable, not str"),
    ({"cancel": threading.Event()}, TypeError, "cancel must be an agentjob.CancelToken, not Event"),
    ({"journal": 3}, TypeError, "journal must be a str or an os.PathLike, not int"),
    ({"journal": ""}, agentjob.InvalidArgumentError, "journal is empty"),
]


@pytest.mark.parametrize(("setting", "error", "sentence"), SETTINGS, ids=lambda value: str(value)[:20])
def test_a_wrong_setting_is_named(client, journal, setting, error, sentence):
    with pytest.raises(error) as caught:
        client.send_all(messages(1), **{"journal": journal, **setting})
    assert str(caught.value).startswith(sentence)


@pytest.mark.skipif(not MAY_TRACE, reason="strace is not installed, or may not trace here")
@pytest.mark.parametrize("error", ["EINVAL", "EOPNOTSUPP", "EACCES"])
def test_a_file_system_that_cannot_sync_folders_keeps_a_journal(emulator, tmp_path, error):
    send = "import agentjob, sys; print([o['delivery'] for o in agentjob.Client().send_all([('job_1', 'go')], journal=sys.argv[1])])"
    tampered = ["strace", "-f", "-o", tmp_path / "trace", "-P", tmp_path, "-e", f"inject=fsync:error={error}"]
    environment = {**os.environ, **emulator.environment()}
    ran = subprocess.run([*tampered, sys.executable, "-c", send, tmp_path / "journal"], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert ran.stdout == "['accepted']\n", ran.stderr
    assert "(INJECTED)" in (tmp_path / "trace").read_text()


def test_a_changed_item_is_named(client, emulator, journal):
    keyed = [{"job_id": "job_1", "prompt": "p", "key": "a", "line": 5}, {"job_id": "job_2", "prompt": "p", "key": "b", "line": 6}]
    list(client.send_all(keyed, journal=journal))
    keyed[1]["prompt"] = "q"
    with pytest.raises(agentjob.InvalidArgumentError, match="^line 6: its prompt was changed "):
        client.send_all(keyed, journal=journal)
    with pytest.raises(agentjob.InvalidArgumentError, match=r"^item 2\b.* list"):
        client.send_all(keyed[:1], journal=journal)
    assert len(emulator.ledger()) == 2


def test_a_batch_resumes_after_its_process_was_killed(client, emulator, script, journal):
    emulator.reset(hourly_limit=1000, jobs=[{"id": f"job_{n}"} for n in range(1, 41)], rules=[{**STALL, "nth": 6}])
    running = script(
        f"""
        items = [(f"job_{{n}}", f"prompt {{n}}") for n in range(1, 41)]
        print("ready", flush=True)
        for outcome in client.send_all(items, journal={str(journal)!r}, concurrency=1):
            pass
        """
    )
    running.wait_until_ready()
    wait_for(lambda: len(emulator.ledger()) >= 5 and emulator.requests()["total"] >= 6, "one is in flight")
    status = agentjob.batch_status(journal)
    assert (status["running"], status["pid"], status["progress"]["sending"]) == (True, running.process.pid, 1)
    with pytest.raises(agentjob.JournalError, match="another"):
        client.send_all(messages(40), journal=journal)
    running.process.kill()
    running.end()

    status = agentjob.batch_status(journal)
    assert not status["running"] and [{**item, "key": len(item["key"])} for item in status["unknown"]] == [
        {"item": 6, "key": 32, "job_id": "job_6", "reason": None}
    ]
    outcomes = by_item(client.send_all(messages(40), journal=journal))
    assert [o["item"] for o in outcomes if o["delivery"] != "accepted"] == [6]
    assert outcomes[5]["delivery"] == outcomes[5]["error"].delivery == "unknown" and outcomes[5]["earlier"]
    assert [o["earlier"] for o in outcomes] == [True] * 6 + [False] * 34
    assert sent(emulator) == sorted(f"prompt {n}" for n in range(1, 41) if n != 6)
    # A user who has checked the job and found no message sends it again.
    outcomes = by_item(client.send_all(messages(40), journal=journal, resend_unknown=True))
    assert outcomes[5]["delivery"] == "accepted" and not outcomes[5]["earlier"] and len(emulator.ledger()) == 40


def test_the_status_of_a_journal_has_every_documented_field(client, journal):
    list(client.send_all([*messages(2), ("nobody", "p")], journal=journal, rate="1000/h"))
    status = agentjob.batch_status(journal)
    assert set(status) == set(agentjob.types.BatchStatus.__annotations__)
    assert set(status["progress"]) == set(agentjob.types.BatchProgress.__annotations__)
    assert status["progress"]["items"] == status["progress"]["done"] == 3
    assert (status["base_url"], status["project_id"], status["pid"]) == (client.base_url, client.project_id, os.getpid())
    assert (status["runs"], status["rate"], status["waits"], status["running"]) == (1, "1000/h", False, False)
    refused = "message to job nobody was rejected: the service returned 404. Check the job id, the project id and the base URL."
    (rejected,) = status["rejected"]
    assert len(rejected.pop("key")) == 32 and rejected == {"item": 3, "job_id": "nobody", "reason": refused}
    assert status["unknown"] == status["failed"] == status["decisions"] == []
    assert status["began_at"] <= status["written_at"]


def test_a_file_that_is_not_a_journal(client, tmp_path):
    torn = tmp_path / "torn"
    torn.write_text("this is no journal\n")
    for call in (agentjob.batch_status, lambda path: client.send_all(messages(1), journal=path)):
        for path in (torn, tmp_path, tmp_path / "no" / "folder"):
            with pytest.raises(agentjob.JournalError) as caught:
                call(path)
            assert caught.value.kind == "journal" and str(path) in str(caught.value)
    with pytest.raises(TypeError, match="journal must be a str or an os.PathLike, not int"):
        agentjob.batch_status(3)
    assert torn.read_text() == "this is no journal\n"


def test_a_429_pauses_every_message_and_is_reported(client, emulator, journal, caplog):
    refusal = {"method": "POST", "nth": 2, "status": 429, "headers": {"Retry-After": "1"}, "json": {"error": "enough"}}
    emulator.reset(rules=[refusal], hourly_limit=1000, jobs=[{"id": f"job_{n}"} for n in range(1, 6)])
    heard = []
    with caplog.at_level(logging.INFO, "agentjob"):
        outcomes = list(client.send_all(messages(5), journal=journal, concurrency=1, on_update=heard.append))
    assert [o["delivery"] for o in outcomes] == ["accepted"] * 5 and len(emulator.ledger()) == 5
    paused, resumed = heard
    assert (paused["event"], paused["reason"], resumed["event"]) == ("paused", "rate_limit", "resumed")
    assert 0.9 < paused["pause"] <= 1.1 and type(paused["error"]) is agentjob.RateLimitError
    assert paused["progress"]["pause"]["reason"] == "rate_limit" and 0 < paused["progress"]["pause"]["seconds"] <= 1.1
    assert resumed["progress"]["pause"] is None
    logged = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "agentjob"]
    assert logged[0] == ("INFO", "batch: paused for 1.0s (rate_limit): the service returned 429") and logged[1] == ("INFO", "batch: resumed")
    assert caplog.records[0].agentjob["event"] == "paused"


def test_with_wait_an_outcome_is_its_jobs_end(client, emulator, journal):
    heard = []
    outcomes = list(client.send_all(messages(3), journal=journal, wait=True, on_update=heard.append, **QUICK))
    assert [(o["delivery"], o["job"]["status"]) for o in outcomes] == [("accepted", "completed")] * 3
    accepted = {update["item"]: update for update in heard if update["event"] == "accepted"}
    assert set(accepted) == {1, 2, 3} and accepted[2]["job_id"] == "job_2" and accepted[2]["job"]["status"] == "active"
    for update in heard:
        assert set(update) == set(agentjob.types.BatchAcceptedUpdate.__annotations__)
        assert set(update["progress"]) == set(agentjob.types.BatchProgress.__annotations__)
    again = list(client.send_all(messages(3), journal=journal, wait=True, **QUICK))
    assert [(o["job"]["status"], o["earlier"]) for o in again] == [("completed", True)] * 3


def test_a_wait_that_times_out_is_the_outcomes_error(client, emulator, journal):
    emulator.reset(work_ms=60_000, jobs=[{"id": "job_1"}])
    [outcome] = client.send_all(messages(1), journal=journal, wait=True, timeout=0.1, **QUICK)
    assert (outcome["delivery"], outcome["job"]["status"]) == ("accepted", "active")
    assert type(outcome["error"]) is agentjob.WaitTimeoutError and outcome["error"].delivery == "accepted"


def test_next_event_returns_none_when_nothing_came_in_time(client, emulator, journal):
    with client.send_all(messages(3), journal=journal, rate="2/h", concurrency=1) as batch:
        assert [batch.next_event(timeout=PATIENCE)["item"], batch.next_event()["item"]] == [1, 2]
        assert batch.next_event(timeout=0) is None and batch.next_event(0.1) is None and not batch.finished
        progress = batch.progress()
        assert (progress["items"], progress["accepted"], progress["left"], progress["done"]) == (3, 2, 1, 2)
        assert 3500 < progress["finishes_in"] <= 3600
        batch.stop()
        assert batch.next_event() is None and batch.finished and next(batch, None) is None
        for wrong, error in ((-1, ValueError), ("1", TypeError)):
            with pytest.raises(error, match="^timeout "):
                batch.next_event(wrong)
    assert repr(batch) == "<Batch: 2 of 3 done, finished>"


def test_a_stopped_batch_still_returns_the_outcomes_in_flight(client, emulator, journal):
    emulator.reset(hourly_limit=1000, jobs=[{"id": f"job_{n}"} for n in range(1, 41)], rules=[{"status": 200, "delay_ms": 1000}])
    batch = client.send_all(messages(40), journal=journal, concurrency=2)
    wait_for(lambda: batch.progress()["sending"] == 2, "two are in flight")
    batch.stop()
    outcomes = list(batch)
    # Two, on a machine that did not stall before the stop.
    sent = emulator.requests()["total"]
    assert [o["delivery"] for o in outcomes] == ["accepted"] * sent and batch.finished
    assert batch.progress()["left"] == 40 - sent and 2 <= sent < 40


def test_close_waits_for_messages_in_flight_for_at_most_grace(client, emulator, journal):
    emulator.reset(hourly_limit=1000, jobs=[{"id": f"job_{n}"} for n in range(1, 11)], rules=[STALL])
    with client.send_all(messages(10), journal=journal, concurrency=2, grace=0.3) as batch:
        wait_for(lambda: emulator.requests()["total"] == 2, "two are in flight")
        begun = time.monotonic()
    assert 0.25 < time.monotonic() - begun < PATIENCE and batch.finished and list(batch) == []
    batch.close()
    status = agentjob.batch_status(journal)
    assert not status["running"] and [item["item"] for item in status["unknown"]] == [1, 2]


def test_a_journal_is_free_once_its_batch_is_over(client, emulator, journal):
    emulator.reset(hourly_limit=1000, jobs=[{"id": "job_1"}, {"id": "job_2"}], rules=[{**STALL, "nth": 1}])
    running = client.send_all(messages(2), journal=journal, grace=0)
    with pytest.raises(agentjob.JournalError, match="another"):
        client.send_all(messages(2), journal=journal)
    running.close()
    ended = client.send_all(messages(2), journal=journal)
    assert len(list(ended)) == 2 and ended.finished
    assert len(list(client.send_all(messages(2), journal=journal))) == 2


def test_the_next_run_of_a_client_in_a_with_statement_waits_for_a_batch_that_was_dropped(client, emulator, journal):
    def attempt(_):
        journal.unlink(missing_ok=True)
        jobs = [{"id": f"job_{n}"} for n in range(1, 11)]
        emulator.reset(hourly_limit=1000, jobs=jobs, rules=[{"nth": n, "status": 200, "delay_ms": 3000} for n in (1, 2)])
        batch = client.send_all(messages(10), journal=journal, concurrency=2)
        wait_for(lambda: emulator.requests()["total"] == 2, "two are in flight")
        del batch
        accepted = agentjob.batch_status(journal)["progress"]["accepted"]
        outcomes = by_item(client.send_all(messages(10), journal=journal, concurrency=10))
        assert [o["delivery"] for o in outcomes] == ["accepted"] * 10 and emulator.requests()["total"] == 10
        assert [o["earlier"] for o in outcomes] == [True] * 2 + [False] * 8
        assert accepted == 0, "letting go of it does not wait"

    tried(3, attempt)


def test_an_exception_from_on_update_stops_the_batch(client, emulator, journal):
    class Enough(Exception):
        pass

    def on_update(update):
        raise enough

    # Forty of them take 16 s.
    emulator.reset(rules=[{"method": "POST", "status": 200, "delay_ms": 400}], hourly_limit=1000, jobs=[{"id": f"job_{n}"} for n in range(1, 41)])
    enough = Enough()
    batch = client.send_all(messages(40), journal=journal, concurrency=1, wait=True, on_update=on_update, min_interval=30)
    with pytest.raises(Enough) as caught:
        list(batch)
    assert caught.value is enough and not hasattr(enough, "__notes__")
    # A batch that has not been closed says no more than that; in this time it would send three more messages, had it not stopped.
    before = emulator.requests()["total"]
    time.sleep(1.2)
    assert 1 <= emulator.requests()["total"] <= before + 1 < 40, "at most the one that was about to be sent"
    batch.close()


def test_a_cancelled_batch_raises_after_the_outcomes_in_flight(client, emulator, journal):
    token = agentjob.CancelToken()
    batch = client.send_all(messages(40), journal=journal, rate="5/h", cancel=token)
    seen = [next(batch) for _ in range(5)]
    token.cancel()
    with pytest.raises(agentjob.CancelledError, match="35 messages left.*Run it again with the same journal"):
        next(batch)
    assert len(seen) == len(emulator.ledger()) == 5 and batch.finished and list(batch) == []


def test_a_closed_client_and_a_wrong_key_stop_the_batch(emulator, journal):
    client = emulator.client()
    batch = client.send_all(messages(40), journal=journal, rate="5/h")
    client.close()
    with pytest.raises(agentjob.ClosedError):
        list(batch)
    with pytest.raises(agentjob.AuthenticationError, match="the batch stopped") as caught:
        list(emulator.client(api_key="wrong").send_all(messages(40), journal=journal.with_name("other")))
    assert caught.value.http_status == 401


def test_a_batch_is_neither_pickled_nor_copied(client, journal):
    with client.send_all(messages(1), journal=journal) as batch:
        for refused in (pickle.dumps, lambda it: pickle.dumps(it, 0), copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="an agentjob.Batch cannot be pickled or copied"):
                refused(batch)


def test_one_thread_iterates_and_any_thread_reads_progress_and_stops(client, emulator, journal):
    emulator.reset(hourly_limit=1000, jobs=[{"id": f"job_{n}"} for n in range(1, 41)])
    batch = client.send_all(messages(40), journal=journal, rate="3/h")
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.extend(batch), daemon=True)
    thread.start()
    wait_for(lambda: batch.progress()["done"] == 3, "three are done")

    def is_in_use():
        try:
            batch.next_event(timeout=0)
        except RuntimeError:
            return True

    wait_for(is_in_use, "the thread waits for the fourth")
    with pytest.raises(RuntimeError, match="^this batch is already in use$"):
        next(batch)
    assert not batch.finished
    begun = time.monotonic()
    for _ in range(100):
        batch.progress()
    batch.stop()
    assert time.monotonic() - begun < PATIENCE, "neither waits for the thread that iterates"
    thread.join(PATIENCE)
    assert not thread.is_alive() and len(outcomes) == 3 and batch.finished


def test_a_thread_that_closes_a_batch_does_not_set_back_its_progress(client, emulator, journal):
    """While it waits for the last response."""
    stall = {"method": "POST", "nth": 4, "fault": {"do": "stall", "at": "request", "ms": 2000 * PATIENCE}}
    emulator.reset(jobs=[{"id": f"job_{n}"} for n in range(1, 5)], rules=[stall])
    token = agentjob.CancelToken()
    batch = client.send_all(messages(4), journal=journal, concurrency=1, grace=PATIENCE, cancel=token)
    wait_for(lambda: batch.progress()["accepted"] == 3, "three are accepted")
    wait_for(lambda: len(emulator.requests()["requests"]) == 4, "the fourth is there")
    closing = threading.Thread(target=batch.close, daemon=True)
    closing.start()
    wait_for(lambda: batch.finished, "it is closing")
    assert (batch.progress()["accepted"], len(batch), repr(batch)) == (3, 4, "<Batch: 3 of 4 done, finished>")
    emulator.stop()
    closing.join(PATIENCE)
    assert batch.progress()["accepted"] == 3 and batch.progress()["unknown"] == 1


def test_a_callback_cannot_iterate_its_own_batch(client, journal):
    batch = None
    batch = client.send_all(messages(3), journal=journal, wait=True, on_update=lambda update: next(batch), **QUICK)
    with pytest.raises(RuntimeError, match="this batch is already in use"):
        list(batch)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform does not fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_cannot_use_its_parents_batch(client, emulator, journal):
    batch = client.send_all(messages(40), journal=journal, rate="3/h")
    stepping = threading.Thread(target=lambda: list(batch), daemon=True)
    stepping.start()
    wait_for(lambda: batch.progress()["done"] == 3, "three are done")
    child = os.fork()
    if child == 0:
        failed = 1
        try:
            for call in (lambda: next(batch), batch.next_event, batch.progress):
                try:
                    call()
                except agentjob.InvalidArgumentError as error:
                    assert str(error) == "this batch belongs to another process: a forked child cannot use it"
                else:
                    raise AssertionError("the child has the batch")
            batch.stop()
            batch.close()
            repr(batch)
            del batch
            other = client.send_all(messages(2), journal=str(journal) + ".child")
            assert len(list(other)) == 2
            failed = 0
        finally:
            os._exit(failed)
    assert os.waitpid(child, 0)[1] == 0
    batch.stop()
    stepping.join(PATIENCE)
    assert batch.finished and batch.progress()["accepted"] == 3 and len(emulator.ledger()) == 5


DONE = """
import agentjob, json, time
client = agentjob.Client(trust_env=False)
with open(JOURNAL) as journal:
    begun = time.process_time()
    assert all(json.loads(line) for line in journal)
    yardstick = time.process_time() - begun
base = peak()
begun = time.process_time()
batch = client.send_all((("job_1", "Add the missing tests, part %d" % n) for n in range(COUNT)), journal=JOURNAL)
assert sum(outcome["earlier"] for outcome in batch) == COUNT
print((time.process_time() - begun) / yardstick, peak() - base)
"""


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="on a disk the first run takes minutes: each message is synced")
def test_a_long_list_that_is_done_is_gone_through_in_little_time_and_memory(emulator, script):
    # Python's json reads the journal's lines in a time that says how fast the machine is.
    import tempfile

    count = 5000
    emulator.reset(hourly_limit=10**9, keep_requests=False, jobs=[{"id": "job_1"}])
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        prompts = [("job_1", f"Add the missing tests, part {n}") for n in range(count)]
        with emulator.client() as client:
            assert sum(o["delivery"] == "accepted" for o in client.send_all(prompts, journal=f"{folder}/j", concurrency=16)) == count
        peak = "peak = lambda: int(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"

        def attempt(_):
            out, err, status = script(peak + f"COUNT, JOURNAL = {count}, {folder + '/j'!r}\n" + DONE).end()
            assert status == 0, err
            times, kilobytes = map(float, out.split())
            assert times < 10 and kilobytes < 8000

        tried(3, attempt)


def test_the_length_of_a_batch_is_the_number_of_its_messages(client, journal):
    with client.send_all(messages(7), journal=journal) as batch:
        assert len(batch) == 7 and len(list(batch)) == 7 and len(batch) == 7
    with client.send_all([], journal=journal.with_name("none")) as batch:
        assert len(batch) == 0 and batch, "a batch without messages is not false"
