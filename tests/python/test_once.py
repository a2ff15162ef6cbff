"""A step of a workflow engine: its message is sent at most once, whatever the worker did that ran it before. tests/model/steps.pml is the
protocol; the store here is SQLite."""

import collections
import json
import os
import pickle
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time

import pytest
from conftest import PATIENCE, QUICK, wait_for

import agentjob
from agentjob._once import calls
from agentjob.once import Once, SQLiteStore

POST = {"method": "POST", "nth": 1}
#: The service takes the message, and its response is lost.
LOST = {**POST, "fault": {"do": "close", "at": "request", "process": True}}

#: How a send may end: the emulator's rule; the exception and its delivery; what the store has then; and the delivery of a second call, None
#: if it returns a record, and how many messages the service has then.
ENDINGS = [
    ({}, None, None, "accepted", None, 1),
    ({**POST, "status": 422}, agentjob.BadRequestError, "rejected", "rejected", None, 1),
    ({**POST, "status": 409}, agentjob.ConflictError, "rejected", "rejected", None, 1),
    ({**POST, "status": 429, "headers": {"Retry-After": "3600"}}, agentjob.RateLimitError, "rejected", "rejected", None, 1),
    ({**POST, "status": 503}, agentjob.ServerError, "unknown", "unknown", "unknown", 0),
    (LOST, agentjob.ConnectionLostError, "unknown", "unknown", "unknown", 1),
    ({**POST, "status": 200, "body": "no record"}, agentjob.InvalidResponseError, "accepted", "accepted", None, 1),
]


@pytest.fixture
def database(tmp_path):
    return tmp_path / "steps.db"


@pytest.fixture
def once(client, database):
    return Once(client, database)


def prompts(emulator):
    return sorted(message["prompt"] for message in emulator.ledger())


def state(once, key="k"):
    (step,) = once.steps([key])
    return step["state"]


def raised(call, *arguments, **options):
    with pytest.raises(agentjob.Error) as caught:
        call(*arguments, **options)
    return caught.value


@pytest.mark.parametrize(("rule", "error", "delivery", "stored", "second", "messages"), ENDINGS, ids=lambda value: str(value)[:40])
def test_a_second_call_sends_only_what_certainly_did_not_arrive(emulator, once, rule, error, delivery, stored, second, messages):
    emulator.reset(rules=[rule] if rule else [])
    if error is None:
        assert once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    else:
        first = raised(once.send_message, "k", "job_demo", "p")
        assert (type(first), first.delivery) == (error, delivery)
    assert state(once) == stored
    if second is None:
        assert once.send_message("k", "job_demo", "p")["id"] == "job_demo"
        assert state(once) == "accepted"
    else:
        again = raised(once.send_message, "k", "job_demo", "p")
        assert (type(again), again.delivery) == (error, second)
    assert len(emulator.ledger()) == messages


def test_a_message_that_did_not_leave_is_sent_by_the_next_call(emulator, client, database):
    settings = {"base_url": client.base_url, "api_key": "k", "project_id": client.project_id}
    unreachable = agentjob.Client(**settings, proxy="http://127.0.0.1:9", max_retries=0)
    error = raised(Once(unreachable, database).send_message, "k", "job_demo", "p")
    assert error.delivery == "not_sent" and prompts(emulator) == []
    Once(client, database).send_message("k", "job_demo", "p")
    assert prompts(emulator) == ["p"]


def test_another_process_gets_the_record_and_sends_nothing(emulator, once, database, script):
    once.send_message("k", "job_demo", "p")
    source = f"from agentjob.once import Once\nprint(Once(client, {str(database)!r}).send_message('k', 'job_demo', 'p')['status'])"
    assert script(source).end() == ("active\n", "", 0)
    assert prompts(emulator) == ["p"]


def test_what_may_have_arrived_says_what_to_do_and_is_resolved(emulator, once):
    emulator.reset(rules=[LOST])
    first = raised(once.send_message, "k", "job_demo", "p")
    assert first.__notes__[-1] == "agentjob: step 'k' is unknown and is not sent again: check the job, then resolve the step"
    second = raised(once.send_message, "k", "job_demo", "p")
    assert str(second) == (
        'step "k": message to job job_demo may have arrived: the connection ended before the response came. '
        "Check the job, then resolve the step: arrived, not_arrived or resend."
    )
    assert [step["error"] for step in once.steps(state="unknown")] == [str(second)]
    once.resolve("k", "arrived")
    assert once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    assert once.wait("k", **QUICK)["status"] == "completed"
    assert prompts(emulator) == ["p"]


@pytest.mark.parametrize("resolution", ["not_arrived", "resend"])
def test_a_person_decides_that_a_message_is_sent_again(emulator, once, resolution):
    emulator.reset(rules=[{**POST, "fault": {"do": "close", "at": "request", "process": False}}])
    raised(once.send_message, "k", "job_demo", "p")
    once.resolve("k", resolution)
    once.resolve("k", resolution)  # the same again is no other decision
    once.send_message("k", "job_demo", "p")
    (step,) = once.steps()
    assert (step["state"], step["decision"], step["sends"]) == ("accepted", resolution, 2)
    assert prompts(emulator) == ["p"]


def test_a_resend_that_is_refused_leaves_the_first_message_unknown(emulator, once):
    emulator.reset(rules=[LOST, {"method": "POST", "nth": 2, "status": 409}, {"method": "POST", "nth": 3, "status": 409}])
    raised(once.send_message, "k", "job_demo", "p")
    once.resolve("k", "resend")
    error = raised(once.send_message, "k", "job_demo", "p")
    assert (error.delivery, type(error.__cause__)) == ("unknown", agentjob.ConflictError)
    assert "an earlier attempt may have delivered it, and the second attempt was rejected" in str(error)
    assert str(raised(once.send_message, "k", "job_demo", "p")) == str(error)
    once.resolve("k", "resend")
    raised(once.send_message, "k", "job_demo", "p")
    once.resolve("k", "not_arrived")
    once.send_message("k", "job_demo", "p")
    assert state(once) == "accepted"


def test_only_an_unknown_step_is_resolved(once):
    once.send_message("k", "job_demo", "p")
    for key, resolution, words in [
        ("k", "not_arrived", 'step "k" cannot be resolved: its message was accepted'),
        ("other", "arrived", 'step "other" cannot be resolved: the store does not have it'),
        ("k", "drop", 'resolution is "drop"'),
    ]:
        error = raised(once.resolve, key, resolution)
        assert isinstance(error, agentjob.InvalidArgumentError) and words in str(error)


@pytest.mark.parametrize(("job_id", "prompt"), [("job_demo", "another"), ("job_busy", "p")])
def test_another_message_under_the_same_key_is_refused(emulator, once, job_id, prompt):
    for rules in ([], [{**POST, "status": 422}], [LOST]):
        emulator.reset(rules=rules)
        key = f"after {rules}"
        before = [raised(once.send_message, key, "job_demo", "p")] if rules else [once.send_message(key, "job_demo", "p")]
        assert before
        sent = prompts(emulator)
        error = raised(once.send_message, key, job_id, prompt)
        assert isinstance(error, agentjob.InvalidArgumentError) and error.delivery == "not_sent"
        assert "is another message" in str(error) and prompts(emulator) == sent


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("", "job_demo", "p"), "key is empty"),
        (("a\nb", "job_demo", "p"), "key contains a control character (U+000A)"),
        (("\ud800", "job_demo", "p"), "key contains a lone surrogate"),
        (("k", "", "p"), "job_id is empty"),
        (("k", "job_demo", ""), "prompt is empty"),
    ],
)
def test_a_wrong_argument_leaves_no_trace(emulator, once, arguments, words):
    error = raised(once.send_message, *arguments)
    assert words in str(error) and error.delivery == "not_sent"
    for wrong in ((1, "job_demo", "p"), ("k", None, "p"), ("k", "job_demo", b"p")):
        with pytest.raises(TypeError):
            once.send_message(*wrong)
    assert once.steps() == [] and prompts(emulator) == []


def test_many_workers_with_the_same_keys_send_each_message_once(emulator, database):
    emulator.reset(hourly_limit=100_000)
    source = f"""
import agentjob, sys
from concurrent.futures import ThreadPoolExecutor
from agentjob.once import Once
once = Once(agentjob.Client(trust_env=False), {str(database)!r})
sys.stdin.readline()
with ThreadPoolExecutor(4) as pool:
    records = list(pool.map(lambda n: once.send_message(f"key {{n % 60}}", "job_demo", f"message {{n % 60}}"), range(240)))
print({{record["id"] for record in records}})
"""
    environment = {**os.environ, **emulator.environment()}
    options = {"env": environment, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", source], **options) for _ in range(4)]
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    for worker in workers:
        out, err = worker.communicate(timeout=PATIENCE)
        assert (out, err) == ("{'job_demo'}\n", ""), err
    sent = collections.Counter(message["prompt"] for message in emulator.ledger())
    assert sent == {f"message {n}": 1 for n in range(60)}


def test_a_worker_waits_for_the_outcome_of_another(emulator, client, database):
    emulator.reset(rules=[{**POST, "delay_ms": 700}])
    records = []
    first = threading.Thread(target=lambda: records.append(Once(client, database).send_message("k", "job_demo", "p")))
    first.start()
    once = Once(client, database)
    wait_for(lambda: once.steps(state="sending"), "the first worker sends")
    assert once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    first.join()
    assert prompts(emulator) == ["p"] and len(records) == 1


def test_a_worker_that_waits_for_another_is_told_when_its_time_is_over_or_it_is_cancelled(emulator, client, database):
    SQLiteStore(database).take("k", "job_demo", agentjob._native.step_message(client, "k", "job_demo", "p"), "another", 60)
    error = raised(Once(client.with_options(timeout=0.3), database).send_message, "k", "job_demo", "p")
    assert (error.kind, error.delivery) == ("timeout", "unknown") and "another worker is sending the message" in str(error)
    token = agentjob.CancelToken()
    threading.Timer(0.2, token.cancel).start()
    error = raised(Once(client, database).send_message, "k", "job_demo", "p", cancel=token)
    assert (error.kind, error.delivery) == ("cancelled", "unknown")
    assert prompts(emulator) == []


class Stopping(SQLiteStore):
    """Does something between two statements of the protocol."""

    def __init__(self, path, before=None, after=None):
        super().__init__(path)
        self.before, self.after = before or {}, after or {}

    def take(self, *arguments):
        return self._at("take", arguments)

    def settle(self, *arguments):
        return self._at("settle", arguments)

    def _at(self, name, arguments):
        self.before.get(name, lambda: None)()
        done = getattr(super(), name)(*arguments)
        self.after.get(name, lambda: None)()
        return done


#: Ends the process, or stops it, at each point of the protocol; and what a later call finds: the state, and how many messages arrived.
POINTS = [("before", "take", None, 0), ("after", "take", "unknown", 0), ("before", "settle", "unknown", 1), ("after", "settle", "accepted", 1)]
WORKER = """
import os, signal, sys
from agentjob._once import calls
from agentjob.once import Once
sys.path.insert(0, {tests!r})
from test_once import Stopping
calls.MARGIN = 0.3
store = Stopping({database!r}, {when}={{{point!r}: lambda: os.kill(os.getpid(), signal.{signal})}})
try:
    print(Once(client.with_options(timeout=1), store).send_message("k", "job_demo", "p")["status"])
except agentjob.Error as error:
    print(error.kind, error.delivery)
"""


def worker(script, database, when, point, number):
    return script(WORKER.format(tests=os.path.dirname(__file__), database=str(database), when=when, point=point, signal=number))


@pytest.mark.parametrize(("when", "point", "found", "messages"), POINTS)
def test_a_worker_that_is_killed_at_any_point_makes_no_later_call_send_twice(
    emulator, once, database, script, when, point, found, messages
):
    assert worker(script, database, when, point, "SIGKILL").end()[2] == -signal.SIGKILL
    assert len(emulator.ledger()) == messages
    if found is None:
        assert once.steps() == []
    else:
        wait_for(lambda: state(once) == found, f"the step is {found}")
    if found == "unknown":
        error = raised(once.send_message, "k", "job_demo", "p")
        assert "the worker that sent it recorded no outcome before its lease was over" in str(error)
    else:
        once.send_message("k", "job_demo", "p")
    assert len(emulator.ledger()) == (1 if found != "unknown" else messages)


def stopped(process):
    with open(f"/proc/{process.pid}/stat") as status:
        return status.read().rsplit(")", 1)[1].split()[0] == "T"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("point", "printed", "messages", "found"),
    [("take", "timeout not_sent\n", 0, "not_sent"), ("settle", "active\n", 1, "accepted")],
)
def test_a_worker_that_was_stopped_past_its_lease_does_not_send_and_its_outcome_counts(
    emulator, once, database, script, point, printed, messages, found
):
    paused = worker(script, database, "before" if point == "settle" else "after", point, "SIGSTOP")
    wait_for(lambda: stopped(paused.process), "it stops itself")
    wait_for(lambda: state(once) == "unknown", "its lease is over")
    # Another worker takes over. It does not send.
    assert raised(once.send_message, "k", "job_demo", "p").delivery == "unknown"
    paused.process.send_signal(signal.SIGCONT)
    assert paused.end() == (printed, "", 0)
    assert len(emulator.ledger()) == messages and state(once) == found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_worker_that_was_stopped_is_told_that_a_person_decided_otherwise(emulator, once, database, script):
    paused = worker(script, database, "before", "settle", "SIGSTOP")
    wait_for(lambda: stopped(paused.process), "it stops itself")
    wait_for(lambda: state(once) == "unknown", "its lease is over")
    once.resolve("k", "not_arrived")  # which is wrong
    paused.process.send_signal(signal.SIGCONT)
    assert paused.end() == ("store accepted\n", "", 0)
    assert state(once) == "not_sent"


def test_ctrl_c_during_the_request_is_recorded(emulator, once, database, script):
    emulator.reset(rules=[{**POST, "delay_ms": 60_000}])
    program = script(
        f"""
        from agentjob.once import Once
        try:
            print("ready", flush=True)
            Once(client, {str(database)!r}).send_message("k", "job_demo", "p")
        except KeyboardInterrupt as interrupt:
            print(interrupt.delivery, *interrupt.__notes__, sep="\\n")
        """
    )
    program.wait_until_ready()
    wait_for(lambda: emulator.requests()["requests"], "the message has left")
    program.interrupt()
    out = program.end()[0].splitlines()
    assert (out[0], out[-1]) == ("unknown", "agentjob: step 'k' is unknown and is not sent again: check the job, then resolve the step")
    assert state(once) == "unknown"
    assert "the call was cancelled" in str(raised(once.send_message, "k", "job_demo", "p"))


class Interrupted(SQLiteStore):
    """Ctrl-C as a statement returns."""

    def __init__(self, path, point):
        super().__init__(path)
        self.point = point

    def take(self, *arguments):
        step = super().take(*arguments)
        self._interrupt("take")
        return step

    def settle(self, *arguments):
        self._interrupt("settle")
        return super().settle(*arguments)

    def _interrupt(self, point):
        if self.point == point:
            self.point = None
            raise KeyboardInterrupt


@pytest.mark.parametrize(("point", "delivery", "found"), [("take", "not_sent", "not_sent"), ("settle", None, "accepted")])
def test_ctrl_c_between_two_statements_loses_no_outcome(client, database, point, delivery, found):
    once = Once(client, Interrupted(database, point))
    with pytest.raises(KeyboardInterrupt) as caught:
        once.send_message("k", "job_demo", "p")
    assert getattr(caught.value, "delivery", None) == delivery
    assert state(once) == found


def test_threads_and_forked_children_share_a_store(emulator, once):
    emulator.reset(hourly_limit=100_000)
    once.send_message("parent", "job_demo", "parent")
    children = []
    for n in range(3):
        child = os.fork()
        if child == 0:
            try:
                once.send_message(f"child {n}", "job_demo", f"child {n}")
                once.send_message("parent", "job_demo", "parent")
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0
    once.send_message("parent again", "job_demo", "parent again")
    assert prompts(emulator) == ["child 0", "child 1", "child 2", "parent", "parent again"]
    assert [step["state"] for step in once.steps()] == ["accepted"] * 5


@pytest.mark.parametrize("damage", ["no folder", "no database", "a later version"])
def test_a_store_that_cannot_be_used_sends_nothing(emulator, client, tmp_path, damage):
    path = tmp_path / "steps.db"
    if damage == "no folder":
        path = tmp_path / "missing" / "steps.db"
    elif damage == "no database":
        path.write_text("This is a list of jobs, and no database. " * 100)
    else:
        Once(client, path).steps()
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE agentjob_steps SET sends = 2 WHERE key = ''")
        connection.close()
    once = Once(client, path)
    for call in (lambda: once.send_message("k", "job_demo", "p"), lambda: once.wait("k"), lambda: once.resolve("k", "arrived"), once.steps):
        error = raised(call)
        assert isinstance(error, agentjob.StoreError) and repr(str(path)) in str(error), error
    assert raised(once.send_message, "k", "job_demo", "p").delivery == "not_sent"
    assert prompts(emulator) == []


class Failing(SQLiteStore):
    """Takes steps, and then can't be reached."""

    def settle(self, *arguments):
        raise agentjob.StoreError("the store is gone")


def test_an_outcome_that_cannot_be_recorded_is_reported_and_unknown_later(emulator, client, database, monkeypatch):
    monkeypatch.setattr(calls, "MARGIN", 0.2)
    once = Once(client.with_options(timeout=2), Failing(database))
    error = raised(once.send_message, "k", "job_demo", "p")
    assert isinstance(error, agentjob.StoreError) and error.delivery == "accepted" and error.job["id"] == "job_demo"
    emulator.reset(rules=[{**POST, "status": 422}])
    error = raised(once.send_message, "rejected", "job_demo", "p")
    assert error.delivery == "rejected"
    assert "could not be recorded, so step 'rejected' becomes unknown: the store is gone" in error.__notes__[-1]
    wait_for(lambda: {step["state"] for step in once.steps()} == {"unknown"}, "both leases are over")


def test_a_result_is_waited_for_by_any_process_and_then_known(emulator, once, database, script):
    once.send_message("k", "job_demo", "p")
    source = f"from agentjob.once import Once\nprint(Once(client, {str(database)!r}).wait('k', min_interval=0.02)['prLink'])"
    link, err, _ = script(source).end()
    assert link.startswith("https://") and err == ""
    requests = len(emulator.requests()["requests"])
    seen = []
    job = once.wait("k", on_update=seen.append)
    assert (job["prLink"], job["status"], seen) == (link.strip(), "completed", [job])
    assert len(emulator.requests()["requests"]) == requests, "it is read from the store"


def test_a_wait_is_not_fooled_by_the_result_before_the_message(emulator, once):
    emulator.reset(jobs=[{"id": "job_demo", "status": "completed", "prLink": "https://example.com/old"}], stale_ms=400, work_ms=300)
    once.send_message("k", "job_demo", "p")
    job = once.wait("k", settle=5, **QUICK)
    assert job["prLink"] != "https://example.com/old"


def test_a_wait_has_the_errors_of_a_clients_wait(emulator, once):
    emulator.reset(work_ms=60_000)
    once.send_message("k", "job_demo", "p")
    error = raised(once.wait, "k", timeout=0.3, **QUICK)
    assert isinstance(error, agentjob.WaitTimeoutError) and error.job["status"] == "active"
    emulator.reset(outcome="failed", work_ms=20)
    once.send_message("l", "job_demo", "p")
    assert once.wait("l", **QUICK)["status"] == "failed"
    assert isinstance(raised(once.wait, "l", check=True), agentjob.JobFailedError)
    with pytest.raises(TypeError):
        once.wait("k", timeout="soon")
    assert isinstance(raised(once.wait, "k", min_interval=0), agentjob.InvalidArgumentError)


def test_only_an_accepted_step_is_waited_for(emulator, once):
    emulator.reset(rules=[{**POST, "status": 422}, {"method": "POST", "nth": 2, "status": 503}])
    raised(once.send_message, "rejected", "job_demo", "p")
    raised(once.send_message, "unknown", "job_demo", "p")
    for key, kind, words in [
        ("none", "invalid_argument", "the store has no step 'none'. Send its message first."),
        ("rejected", "invalid_argument", "the message of step 'rejected' was not accepted: it is rejected."),
        ("unknown", "server", 'step "unknown": message to job job_demo may have arrived'),
    ]:
        error = raised(once.wait, key)
        assert error.kind == kind and words in str(error)


def test_steps_are_listed_by_key_and_by_state(emulator, once):
    emulator.reset(rules=[{"method": "POST", "nth": 2, "status": 503}])
    once.send_message("b", "job_demo", "p")
    raised(once.send_message, "a", "job_demo", "p")
    assert [step["key"] for step in once.steps()] == ["a", "b"]
    assert [step["key"] for step in once.steps(state="unknown")] == ["a"]
    assert [step["key"] for step in once.steps(["b", "c"])] == ["b"]
    (step,) = once.steps(["b"])
    assert step["job"]["id"] == "job_demo" and step["error"] is None and step["taken_at"] <= step["changed_at"]


def test_the_store_has_no_prompt_no_key_and_no_text_of_the_service(emulator, client, database):
    says = {"message": "unfortunate words", "headers": {"x-request-id": "req-7"}}
    emulator.reset(rules=[{**POST, "status": 422, "body": json.dumps(says), "headers": {"x-request-id": "req-7"}}])
    once = Once(client, database)
    raised(once.send_message, "k", "job_demo", "a secret plan")
    once.send_message("l", "job_demo", "another secret plan")
    once.store.close()
    text = b"".join(path.read_bytes() for path in database.parent.iterdir())
    assert b"req-7" in text
    for absent in (b"secret plan", b"unfortunate", emulator.environment()["AGENTJOB_API_KEY"].encode(), b"acme/widgets\""):
        assert absent not in text
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


def test_a_message_costs_two_statements_and_100_000_known_keys_one(once, database):
    once.steps()  # opens it
    statements = []
    once.store._by_pid[os.getpid()].connection.set_trace_callback(statements.append)
    once.send_message("k", "job_demo", "p")
    assert len(statements) == 2, statements
    rows = ((f"known {n:06}", "job_demo", "m", "accepted") for n in range(100_000))
    with sqlite3.connect(database) as connection:
        connection.executemany("INSERT INTO agentjob_steps (key, job_id, message, state) VALUES (?, ?, ?, ?)", rows)
    connection.close()
    statements.clear()
    steps = once.steps(f"known {n:06}" for n in range(100_000))
    assert (len(steps), len(statements)) == (100_000, 1)
    statements.clear()
    raised(once.send_message, "known 000001", "job_demo", "p")
    assert len(statements) <= 3


def test_it_pickles_for_the_workers_of_a_cluster(emulator, database, monkeypatch):
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    once = Once(agentjob.Client(trust_env=False), database)
    once.send_message("k", "job_demo", "p")
    other = pickle.loads(pickle.dumps(once))
    other.send_message("k", "job_demo", "p")
    assert prompts(emulator) == ["p"] and repr(other) == repr(once)


def test_importing_agentjob_loads_no_store():
    code = "import agentjob, sys; print({'sqlite3', 'agentjob.once'} & set(sys.modules)); agentjob.once; print('agentjob.once' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\nTrue\n"


def test_a_program_may_bring_a_store_of_its_own(client, database):
    class Own:
        def __init__(self):
            self.inner = SQLiteStore(database)

        def __getattr__(self, name):
            return getattr(self.inner, name)

    assert Once(client, Own()).send_message("k", "job_demo", "p")["id"] == "job_demo"
    for wrong in (1, None, object()):
        with pytest.raises(TypeError):
            Once(client, wrong)
    with pytest.raises(TypeError):
        Once("client", database)


def test_a_lease_is_not_ended_by_a_clock_that_is_set(once, monkeypatch):
    """The clock of the machine counts from its start, with its sleep. After another start no worker is left."""
    store = once.store
    boot, now = agentjob._native.machine_time()
    store.take("k", "job_demo", "m", "another", 60)
    monkeypatch.setattr(time, "time", lambda: now + 1e6)
    assert state(once) == "sending"
    for later in ((boot, now + 61), ("another start", now)):
        monkeypatch.setattr(agentjob._native, "machine_time", lambda later=later: later)
        assert state(once) == "unknown"
