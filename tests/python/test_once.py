"""A step of a workflow engine: its message is sent at most once, whatever happened before. The store here is SQLite."""

import json
import pickle
import socket
import subprocess
import sys
import threading
import time

import pytest
from conftest import QUICK
from steps import LOST, POST, Wrapped, opened, prompts, raised, settings, state

import agentjob
from agentjob.once import Once

#: How a send may end: the emulator's rule; the exception and its delivery; what the store has then; and the delivery of a second call, None
#: if it returns a record, and how many messages the service has then.
ENDINGS = [
    ({}, None, None, "accepted", None, 1),
    ({**POST, "status": 422}, agentjob.BadRequestError, "rejected", "rejected", None, 1),
    ({**POST, "status": 409}, agentjob.ConflictError, "rejected", "rejected", None, 1),
    ({**POST, "status": 429, "headers": {"Retry-After": "3600"}}, agentjob.RateLimitError, "rejected", "rejected", "not_sent", 0),
    ({**POST, "status": 503}, agentjob.ServerError, "unknown", "unknown", "unknown", 0),
    (LOST, agentjob.ConnectionLostError, "unknown", "unknown", "unknown", 1),
    ({**POST, "status": 200, "body": "no record"}, agentjob.InvalidResponseError, "accepted", "accepted", None, 1),
]


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
    assert str(first) == (
        'step "k": message to job job_demo may have arrived: the connection ended before the response came. '
        "Check the job, then resolve the step: arrived, not_arrived or resend."
    )
    assert isinstance(first.__cause__, agentjob.ConnectionLostError) and first.attempts == 1
    second = raised(once.send_message, "k", "job_demo", "p")
    assert str(second) == str(first)
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
    # Until it is sent, a message that may have arrived is unknown.
    assert state(once) == {"not_arrived": "not_sent", "resend": "unknown"}[resolution]
    once.send_message("k", "job_demo", "p")
    (step,) = once.steps()
    assert (step["state"], step["decision"], step["sends"], step["error"]) == ("accepted", resolution, 2, None)
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


def test_a_decision_can_be_changed_until_a_call_acts_on_it(emulator, once):
    emulator.reset(rules=[LOST])
    raised(once.send_message, "k", "job_demo", "p")
    for resolution, found in [("resend", "unknown"), ("not_arrived", "not_sent"), ("resend", "unknown"), ("arrived", "accepted"), ("arrived", "accepted")]:
        once.resolve("k", resolution)
        (step,) = once.steps()
        assert (step["state"], step["decision"]) == (found, resolution)
    # A caller may have its record already.
    assert "its message was accepted" in str(raised(once.resolve, "k", "not_arrived"))
    assert once.wait("k", **QUICK)["status"] == "completed"
    assert prompts(emulator) == ["p"]


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


def test_a_call_that_has_ended_before_it_begins_takes_nothing(emulator, client, database):
    once = Once(client, database)
    token = agentjob.CancelToken()
    token.cancel()
    assert raised(once.send_message, "k", "job_demo", "p", cancel=token).delivery == "not_sent"
    for wrong in ({"headers": {"bad name": "x"}}, {"headers": {"authorization": "x"}}):
        assert isinstance(raised(once.send_message, "k", "job_demo", "p", **wrong), agentjob.InvalidArgumentError)
    for wrong in ({"headers": 7}, {"meta": 7}, {"cancel": 7}):
        with pytest.raises(TypeError):
            once.send_message("k", "job_demo", "p", **wrong)
    client.close()
    assert raised(once.send_message, "k", "job_demo", "p").kind == "closed"
    assert once.steps() == [] and prompts(emulator) == []


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


def test_the_settle_time_of_a_wait_counts_from_the_message(emulator, client, database):
    """In a process that did not send: the job shows no sign of the message, and the store says how long ago that was."""
    emulator.reset(jobs=[{"id": "job_demo", "status": "completed"}], stale_ms=600_000)
    Once(client, database).send_message("k", "job_demo", "p")

    class Older(Wrapped):
        def get(self, *arguments):
            (step,) = self.store.get(*arguments)
            saved = json.loads(step.poller)
            saved["saved_at_unix_ms"] -= 100_000
            return [step._replace(poller=json.dumps(saved))]

    other = Once(agentjob.Client(**settings(emulator)), Older(database))
    assert other.wait("k", settle=60, timeout=20, **QUICK)["status"] == "completed"


def test_a_result_is_kept_only_of_the_message_that_was_waited_for(emulator, client, database):
    """A person decides, wrongly, that it did not arrive while a wait for it ends: the next send has no result yet."""
    once, store = Once(client, database), opened(database)
    emulator.reset(rules=[LOST])
    raised(once.send_message, "k", "job_demo", "p")
    (step,) = store.get(["k"], None, 10)
    once.resolve("k", "not_arrived")
    once.send_message("k", "job_demo", "p")
    store.finish(step, '{"id":"job_demo","status":"completed"}')
    (step,) = store.get(["k"], None, 10)
    assert step.result is None
    store.finish(step, '{"id":"job_demo","status":"completed"}')
    assert once.wait("k")["status"] == "completed" and len(emulator.requests()["requests"]) == 2


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
        ("none", "invalid_argument", 'step "none" has no result: the store does not have it. Send its message first.'),
        ("rejected", "invalid_argument", 'step "rejected" has no result: its message was rejected. To send it, call send_message again.'),
        ("a\0b", "invalid_argument", "key contains a control character"),
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
    for wrong, error in [("b", TypeError), ([7], TypeError), (["a\0"], agentjob.InvalidArgumentError)]:
        with pytest.raises(error):
            once.steps(wrong)
    assert "state is 'unkown'" in str(raised(once.steps, state="unkown"))
    (step,) = once.steps(["b"])
    assert step["job"]["id"] == "job_demo" and step["error"] is None and step["taken_at"] <= step["changed_at"]


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
    assert Once(client, Wrapped(database)).send_message("k", "job_demo", "p")["id"] == "job_demo"
    for wrong in (1, None, object()):
        with pytest.raises(TypeError):
            Once(client, wrong)
    with pytest.raises(TypeError):
        Once("client", database)


def test_an_engine_may_run_the_loop_of_a_wait_itself(emulator, client, once):
    with pytest.raises(agentjob.InvalidArgumentError, match='step "k"'):
        once.poller("k")
    emulator.reset(rules=[LOST], work_ms=600)
    raised(once.send_message, "k", "job_demo", "p")
    assert raised(once.poller, "k").delivery == "unknown"
    once.resolve("k", "not_arrived")
    once.send_message("k", "job_demo", "p")
    state = str(once.poller("k", **QUICK, settle=600))
    while not (poller := client.resume(state)).poll():
        state = str(poller)
        time.sleep(poller.due_in)
    # Another process, which did not see the job active, knows from the poller alone that this is not the previous result.
    elsewhere = Once(emulator.client(), once.store)
    with pytest.raises(agentjob.WaitTimeoutError):
        elsewhere.wait("k", **QUICK, settle=600, timeout=0.1)
    assert elsewhere.wait("k", poller=str(poller), **QUICK, timeout=60)["status"] == "completed"
    emulator.reset(jobs=[])
    assert once.wait("k")["status"] == "completed", "the result is in the store"
    with pytest.raises(agentjob.InvalidArgumentError, match="poller is not of job"):
        once.wait("k", poller=str(client.poller("another")))
    with pytest.raises(TypeError, match="tiemout"):
        once.poller("k", tiemout=1)


@pytest.mark.parametrize(("store", "passes"), [("mysql://host/steps", False), ("/no/such/folder/steps.db", True)])
def test_a_store_that_has_to_be_another_one_is_not_tried_again(client, store, passes):
    """Engines run a step again after a failure that passes by itself."""
    with pytest.raises(agentjob.StoreError) as caught:
        Once(client, store).send_message("k", "job_demo", "p")
    assert (agentjob._native.step_retry(caught.value, 0, 1) is not None) == passes


def test_the_login_of_a_proxy_is_a_setting_which_is_not_tried_again(emulator, database, proxy_that_wants_a_login):
    client = agentjob.Client(**{**settings(emulator), "base_url": "https://127.0.0.1:9"}, proxy=proxy_that_wants_a_login, max_retries=0)
    error = raised(Once(client, database).send_message, "k", "job_demo", "p")
    assert "407" in str(error) and error.delivery == "not_sent" and agentjob._native.step_retry(error, 0, 20) is None


@pytest.fixture
def proxy_that_wants_a_login():
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=refuse_one, args=(server,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def refuse_one(server):
    connection, _ = server.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")


def test_the_settle_time_of_a_wait_is_its_own_and_counts_from_when_the_message_was_accepted(emulator, client, database):
    emulator.reset(jobs=[{"id": "job_demo", "status": "completed"}], work_ms=0)
    once = Once(client.with_options(settle=600.0), database)
    once.send_message("k", "job_demo", "p")
    with pytest.raises(agentjob.WaitTimeoutError):
        once.wait("k", **QUICK, timeout=0.1)
    assert once.wait("k", **QUICK, settle=0.01, timeout=60)["status"] == "completed"
    Once(client.with_options(settle=0.0), database).send_message("q", "job_demo", "q")
    with pytest.raises(agentjob.WaitTimeoutError):
        Once(emulator.client(), database).wait("q", **QUICK, settle=600, timeout=0.1)
