"""The calls, and the dicts that they return."""

import gc
import json
import time
import weakref

import pytest

import agentjob
from agentjob.testing import Emulator
from conftest import BUSY, PATIENCE, QUICK, SEEN


def test_the_readme_snippet(emulator, monkeypatch):
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    client = agentjob.Client()
    job = client.send_and_wait("job_demo", "Also cover the error cases", **QUICK)
    assert (job["status"], job["prLink"]) == ("completed", "https://github.com/acme/widgets/pull/2")
    assert [message["prompt"] for message in emulator.ledger()] == ["Also cover the error cases"]


def test_a_proxy_of_the_environment_is_not_for_this_machine_and_one_that_is_given_is(emulator, monkeypatch):
    """As docs/how-to/proxy-and-ca.md says."""
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert agentjob.Client().get_job("job_demo")["id"] == "job_demo"
    monkeypatch.setenv("NO_PROXY", "*")
    with pytest.raises(agentjob.ConnectError, match="proxy"):
        agentjob.Client(proxy="http://127.0.0.1:9", max_retries=0).get_job("job_demo")


def test_a_message_returns_the_record_as_a_plain_dict(emulator, client):
    job = client.send_message("job_demo", "naïve → 日本 🎉 \0 \"quotes\"")
    assert type(job) is dict and type(job["source"]) is dict
    assert list(job) == ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"]
    assert job["status"] == "active" and job["prLink"] is None
    assert emulator.ledger()[0]["prompt"] == "naïve → 日本 🎉 \0 \"quotes\""


def test_a_created_job_can_be_read(emulator, client):
    job = client.create_job("Fix the bug")
    assert client.get_job(job["id"])["id"] == job["id"]
    assert emulator.ledger()[0]["kind"] == "create"


def test_a_record_comes_out_as_json_loads_would_read_it():
    served = (
        '{"id":"a","status":"active","big":123456789012345678901234567890,"least":-9223372036854775809,"zero":-0,'
        '"huge":' + "7" * 4000 + ',"price":1.10,"tiny":5e-324,"over":1e999,"minus":-0.0,"E":1E5,'
        '"z":1,"a":{"deep":[true,false,null,[],{}]},"text":"\\u00e9\\ud83c\\udf89\\u0000","":0}'
    )
    with Emulator(rules=[{"status": 200, "body": served}]) as emulator:
        job = emulator.client().get_job("a")
    expected = json.loads(served)
    for key in ("source", "model", "prLink", "createdAt", "archivedAt"):
        job.pop(key)
    assert job == expected
    assert repr(job) == repr(expected), "types, digits and the order of keys, too"


def test_missing_keys_are_none():
    with Emulator(rules=[{"status": 200, "body": '{"id":"a","status":"paused"}'}]) as emulator:
        assert emulator.client().get_job("a") == {
            "id": "a",
            "status": "paused",
            "source": {"repository": None, "ref": None},
            "model": None,
            "prLink": None,
            "createdAt": None,
            "archivedAt": None,
        }


def test_wait_reports_each_change_and_returns_the_last_record(emulator, client):
    emulator.reset(work_ms=SEEN, jobs=[BUSY])
    seen = []
    client.send_message("job_busy", "go")
    job = client.wait("job_busy", on_update=seen.append, **QUICK)
    assert [update["status"] for update in seen] == ["active", "completed"]
    assert job == seen[-1] and type(job) is dict


def test_send_and_wait_does_not_take_the_previous_result_for_the_new_one():
    with Emulator(work_ms=300, stale_ms=200) as emulator:
        before = emulator.client().get_job("job_demo")
        job = emulator.client().send_and_wait("job_demo", "go", settle=1.0, **QUICK)
    assert before["status"] == job["status"] == "completed"
    assert before["prLink"] != job["prLink"]


def test_check_turns_a_failed_job_into_an_error():
    with Emulator(work_ms=300, outcome="failed") as emulator:
        client = emulator.client()
        assert client.send_and_wait("job_demo", "go", **QUICK)["status"] == "failed"
        with pytest.raises(agentjob.JobFailedError, match="job_demo") as caught:
            client.send_and_wait("job_demo", "go", check=True, **QUICK)
        assert caught.value.job["status"] == "failed"
        assert (caught.value.kind, caught.value.delivery) == ("job_failed", "accepted")
        with pytest.raises(agentjob.JobFailedError) as caught:
            client.wait("job_demo", check=True)
        assert caught.value.delivery is None


@pytest.mark.parametrize("outcome", ["completed", "archived"])
def test_check_leaves_other_ends_alone(outcome):
    with Emulator(work_ms=300, outcome=outcome) as emulator:
        assert emulator.client().send_and_wait("job_demo", "go", check=True, **QUICK)["status"] == outcome


def test_watch_yields_each_change_and_ends(emulator, client):
    emulator.reset(work_ms=SEEN)
    client.send_message("job_demo", "go")
    watch = client.watch("job_demo", **QUICK)
    assert iter(watch) is watch
    assert [job["status"] for job in watch] == ["active", "completed"]
    assert next(watch, None) is None


def test_watch_ends_with_an_error(client):
    watch = client.watch("job_busy", timeout=1, **QUICK)
    assert next(watch)["status"] == "active"
    with pytest.raises(agentjob.WaitTimeoutError):
        next(watch)
    assert list(watch) == []


def test_a_poller_polls_once_at_a_time_and_resumes_from_its_text(emulator, client):
    emulator.reset(work_ms=SEEN)
    client.send_message("job_demo", "go")
    poller = client.poller("job_demo", min_interval=PATIENCE, max_interval=PATIENCE)
    assert (poller.job_id, poller.job, poller.done, poller.polls) == ("job_demo", None, False, 0)
    assert poller.poll() is None
    # A pause is varied by a tenth.
    assert poller.changed and poller.job["status"] == "active" and 0 < poller.due_in <= 1.1 * PATIENCE and poller.elapsed > 0
    assert str(poller).startswith("{") and '"job_id":"job_demo"' in poller.to_text()
    other = client.resume(poller.to_text())
    while (job := other.poll()) is None:
        assert 0 < other.due_in <= 1.1 * PATIENCE
        time.sleep(0.02)  # a poll may come sooner than it is due
    assert job["status"] == "completed" == other.job["status"]
    assert other.done and other.polls >= 2 and other.poll() == job


def test_events_report_the_call_without_secrets():
    events = []
    rules = [{"method": "GET", "nth": 1, "status": 503, "headers": {"Retry-After": "0"}}]
    with Emulator(work_ms=300, rules=rules) as emulator:
        client = emulator.client(on_event=events.append, max_retries=1)
        client.get_job("job_demo")
        client.send_and_wait("job_demo", "a secret prompt", **QUICK)
        key = emulator.api_key
    assert [event["event"] for event in events[:4]] == ["attempt", "response", "retry", "attempt"]
    assert events[2]["reason"] and events[2]["attempt"] == 1 and events[2]["operation"] == "get_job"
    polls = [event for event in events if event["event"] == "poll"]
    assert polls[-1]["status"] == "completed" and polls[-1]["next"] is None
    for event in events:
        assert type(event) is dict
        keys = event["event"].capitalize() + "Event"
        # `item` is that of a batch.
        assert list(event) == [key for key in getattr(agentjob.types, keys).__annotations__ if key != "item"]
    responses = [event for event in events if event["event"] == "response"]
    assert [response["status"] for response in responses[:2]] == [503, 200]
    assert list(responses[0]["timings"]) == ["connect", "first_byte"] and list(responses[1]["timings"]) == ["first_byte"]
    assert key not in repr(events) and "secret prompt" not in repr(events)


@pytest.mark.parametrize("method", ["wait", "send_and_wait"])
def test_an_exception_from_on_update_ends_the_wait_unchanged(emulator, client, method):
    class Mine(Exception):
        pass

    raised = Mine("stop")

    def stop(job):
        raise raised

    arguments = ["job_demo", "go"] if method == "send_and_wait" else ["job_demo"]
    with pytest.raises(Mine) as caught:
        getattr(client, method)(*arguments, on_update=stop, **QUICK)
    assert caught.value is raised
    notes = getattr(raised, "__notes__", [])
    if method == "send_and_wait":
        assert notes == ["agentjob: the message was accepted; do not send it again"]
    else:
        assert notes == []


def test_an_exception_from_on_event_ends_the_call_before_anything_is_sent(emulator):
    def stop(event):
        raise KeyError(event["event"])

    with pytest.raises(KeyError, match="attempt") as caught:
        emulator.client(on_event=stop).send_message("job_demo", "go")
    assert caught.value.__notes__ == ["agentjob: the message was not sent, so it may be sent again"]
    assert emulator.ledger() == []


@pytest.mark.parametrize(
    ("rule", "note"),
    [
        ({"nth": 99}, "agentjob: the message was accepted; do not send it again"),
        ({"status": 500}, "agentjob: the message may have arrived; check the job before you send it again"),
    ],
)
def test_an_exception_from_on_event_at_the_response_keeps_its_verdict(emulator, rule, note):
    def stop(event):
        if event["event"] == "response":
            raise KeyError(event["status"])

    emulator.reset(rules=[rule])
    with pytest.raises(KeyError) as caught:
        emulator.client(on_event=stop).send_message("job_demo", "go")
    assert caught.value.__notes__ == [note]


def test_a_call_within_a_callback_works(emulator, client):
    emulator.reset(work_ms=SEEN, jobs=[{"id": "job_demo"}, BUSY])
    seen = []
    client.send_message("job_demo", "go")
    client.wait("job_demo", on_update=lambda job: seen.append(client.get_job("job_busy")["id"]), **QUICK)
    assert seen == ["job_busy", "job_busy"]


def test_a_step_within_a_step_is_refused():
    with Emulator(jobs=[BUSY]) as emulator:
        refused = []

        def step(event):
            with pytest.raises(RuntimeError, match="is already in use") as caught:
                poller.poll() if poller else next(watch)
            refused.append(str(caught.value))
            if poller:
                assert poller.due_in == 0 and "job_busy" in str(poller), "to read where it stands is no step"

        client = emulator.client(on_event=step)
        watch, poller = client.watch("job_busy"), None
        assert next(watch)["id"] == "job_busy"
        assert set(refused) == {"this watch is already in use"}
        poller = client.poller("job_busy")
        poller.poll()
        assert refused[-1] == "this poller is already in use"


def test_a_client_in_a_cycle_is_collected(emulator):
    class Owner:
        def __init__(self):
            self.client = emulator.client(on_event=self.on_event)
            self.watch = self.client.watch("job_demo")

        def on_event(self, event):
            pass

    owner = Owner()
    assert next(owner.watch)["id"] == "job_demo"
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_a_closed_client_refuses_and_says_so(emulator):
    with emulator.client() as client:
        assert client.get_job("job_demo") and not client.closed
    assert client.closed
    with pytest.raises(agentjob.ClosedError) as caught:
        client.send_message("job_demo", "go")
    assert caught.value.delivery == "not_sent"
    client.close()


def test_a_client_with_other_options_shares_the_connections(emulator, client):
    events = []
    client.get_job("job_demo")
    changed = client.with_options(timeout=7, max_retries=0, on_event=events.append)
    changed.get_job("job_demo")
    again = changed.with_options(max_prompt_bytes=3)
    assert (changed.timeout, again.timeout, again.max_retries, client.timeout) == (7, 7, 0, 60)
    with pytest.raises(agentjob.InvalidArgumentError, match="At most 3 bytes"):
        again.send_message("job_demo", "four")
    again.get_job("job_demo")
    asked = [event["operation"] for event in events if event["event"] == "attempt"]
    assert asked == ["get_job", "get_job"], "what is not given stays as it is"
    assert emulator.requests()["connections"] == 1
    again.close()
    assert client.closed and changed.closed


@pytest.mark.parametrize(
    ("wrong", "exception", "says"),
    [
        ({"timeout": 0}, agentjob.InvalidArgumentError, "timeout is 0"),
        ({"timeout": float("nan")}, agentjob.InvalidArgumentError, "timeout is NaN"),
        ({"max_retries": -1}, agentjob.InvalidArgumentError, "max_retries is negative"),
        ({"max_retries": True}, TypeError, "max_retries must be a whole number, not bool"),
        ({"on_event": "print"}, TypeError, "on_event must be callable, not str"),
        ({"api_key": "k"}, TypeError, "api_key"),
    ],
)
def test_a_wrong_option_is_named(client, wrong, exception, says):
    with pytest.raises(exception, match=says):
        client.with_options(**wrong)
