"""`--json-events`: a command's progress for programs."""

import json
import signal
import time

import pytest

from agentjob import Error
from agentjob.testing import Emulator
from conftest import PATIENCE, arrived, tried, unix, wait_for
from test_cli import QUICK, run, start

#: An error's keys: all but the response's body and the job's record.
ERROR_KEYS = [name for name in Error().to_dict() if name not in ("body", "job")]
FACTS = ["event", *ERROR_KEYS, "resume", "check"]


def events(err):
    lines = err.splitlines()
    assert all(json.dumps(json.loads(line), separators=(",", ":")) == line for line in lines), "one compact object a line"
    return [json.loads(line) for line in lines]


def test_a_message_is_followed_event_by_event(emulator):
    status, out, err = run(emulator, "send", "job_demo", "a secret plan", "--wait", "--json-events", *QUICK)
    reported = events(err)
    assert status == 0 and reported[0] == {"event": "attempt", "operation": "send_message", "job_id": "job_demo", "attempt": 1}
    response = reported[1]
    assert (response["event"], response["operation"], response["status"]) == ("response", "send_message", 200)
    assert set(response["timings"]) == {"connect", "first_byte"} and response["elapsed"] > 0
    updates = [event["job"] for event in reported if event["event"] == "update"]
    assert [job["status"] for job in updates] == ["active", "completed"] and updates[-1] == json.loads(out)
    polls = [event for event in reported if event["event"] == "poll"]
    assert [poll["polls"] for poll in polls] == list(range(1, len(polls) + 1)) and polls[-1]["next"] is None
    assert "secret" not in err and emulator.api_key not in err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["send", "job_demo", "go"], {"attempt", "response"}),
        (["get", "job_demo"], {"attempt", "response"}),
        (["wait", "job_demo"], {"attempt", "response", "poll", "update"}),
        (["create", "go"], {"attempt", "response"}),
        (["create", "go", "--wait", *QUICK], {"attempt", "response", "poll", "update"}),
        (["demo"], {"attempt", "response", "poll", "update"}),
    ],
    ids=lambda value: " ".join(sorted(value) if isinstance(value, set) else value),
)
def test_every_command_that_asks_the_service_has_events(emulator, words, names):
    status, out, err = run(emulator, *words, "--json-events")
    assert status == 0 and "id" in json.loads(out)
    assert {event["event"] for event in events(err)} == names


LOST = {"fault": {"do": "close", "at": "request"}}
FOLLOW = ["send", "job_demo", "go", "--wait", *QUICK]


@pytest.mark.parametrize(
    ("config", "words", "expected"),
    [
        ({}, ["get", "nobody"], (3, "not_found", None, 404)),
        ({}, ["send", "nobody", "go"], (3, "not_found", "rejected", 404)),
        ({}, ["send", "job_demo", ""], (2, "invalid_argument", "not_sent", None)),
        ({}, ["wait", "--resume", "{}"], (2, "invalid_argument", None, None)),
        ({"rules": [LOST]}, ["send", "job_demo", "go"], (5, "connection_lost", "unknown", None)),
        ({"rules": [{"method": "GET", "status": 403}]}, [*FOLLOW], (3, "permission_denied", "accepted", 403)),
        ({"work_ms": 60000}, [*FOLLOW, "--wait-timeout", "0.2"], (4, "wait_timeout", "accepted", None)),
    ],
    ids=["not_found", "rejected", "argument", "resume", "unknown", "accepted", "wait_timeout"],
)
def test_an_error_is_the_last_event(config, words, expected):
    with Emulator(**config) as emulator:
        status, out, err = run(emulator, *words, "--json-events")
    error = events(err)[-1]
    assert list(error) == FACTS and error["event"] == "error" and error["message"] and out == ""
    assert (status, error["kind"], error["delivery"], error["http_status"]) == expected
    assert error["resume"] == ("agentjob wait job_demo" if status == 4 else None)


def test_an_error_in_a_file_has_its_line_its_reason_and_its_hint(emulator, tmp_path):
    file = tmp_path / "messages.jsonl"
    words = ["batch", "run", str(file), "--journal", str(tmp_path / "run"), "--json-events"]

    def refused(*lines):
        file.write_text("".join(line + "\n" for line in lines))
        status, _, err = run(emulator, *words)
        (error,) = events(err)
        assert (status, error["kind"]) == (2, "invalid_argument")
        start, _, advice = error["message"].partition(f"{error['reason']}. ")
        assert (start, advice) == (f"{file}, line {error['line']}: ", error["hint"])
        return error["line"], error["reason"], error["hint"]

    first, second = ('{"job_id":"job_demo","prompt":"%d"}' % n for n in (1, 2))
    # The reader of the file refuses it.
    empty_key = '{"job_id":"b","prompt":"x","key":""}'
    assert refused(first, "", empty_key) == (3, "key is empty", "Give 1 to 1024 bytes, or no key.")
    # The batch refuses the item.
    file.write_text(f"{first}\n{second}\n")
    assert run(emulator, *words)[0] == 0
    line, reason, hint = refused(first, "", '{"job_id":"job_demo","prompt":"another"}')
    assert line == 3 and reason.startswith("it is now a different message") and hint.startswith("Restore the list")


@unix
def test_ctrl_c_is_an_error_with_the_command_that_resumes(emulator):
    process = start(emulator, "send", "job_busy", "go", "--wait", "--json-events")
    wait_for(emulator.ledger, "it was sent")
    assert [json.loads(process.stderr.readline())["event"] for _ in range(2)] == ["attempt", "response"]
    update = json.loads(process.stderr.readline())
    assert update["job"]["id"] == "job_busy"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    # On a machine that stalls it has polled before, or is polling.
    *before, error = events(err)
    names = [event["event"] for event in before]
    assert set(names) <= {"attempt", "response", "poll"}
    assert (process.returncode, out, list(error)) == (130, "", FACTS)
    assert (error["kind"], error["delivery"]) == ("interrupted", "accepted")
    # The message's, and perhaps that of the poll which Ctrl-C ended, before it was an event.
    assert error["attempts"] - names.count("poll") in (1, 2)
    assert error["resume"].startswith("agentjob wait --resume '{") and error["elapsed"] > 0


@unix
@pytest.mark.parametrize(
    ("rule", "delivery"),
    [
        ({"status": 429, "headers": {"Retry-After": "30"}}, "rejected"),
        ({"fault": {"do": "stall", "at": "request"}}, "unknown"),
        ({"status": 200, "drip": {"bytes": 160, "every_ms": 20000}}, "accepted"),
    ],
    ids=["rejected", "unknown", "accepted"],
)
def test_ctrl_c_reports_the_delivery_verdict(emulator, rule, delivery):
    def attempt(n):
        emulator.reset(rules=[rule])
        process = start(emulator, "create", "go", "--wait", "--json-events")
        wait_for(lambda: arrived(emulator) == 1, "it is there")
        time.sleep(0.1 * 2**n)  # and what comes back is read
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        error = events(err)[-1]
        assert (error["kind"], error["delivery"], error["resume"]) == ("interrupted", delivery, None), "no id to wait for"

    tried(7, attempt)


def test_a_record_that_cannot_be_written_is_an_error_too(emulator):
    with open("/dev/full", "w") as full:
        process = start(emulator, "send", "job_demo", "go", "--json-events", stdout=full)
        _, err = process.communicate(timeout=PATIENCE)
    error = events(err)[-1]
    assert (process.returncode, error["kind"], error["delivery"]) == (5, "output", "accepted")


def test_text_of_the_service_is_written_as_ascii(emulator):
    emulator.reset(rules=[{"nth": 1, "status": 200, "json": {"id": "a", "status": "\u009b2J naïve"}}], jobs=[{"id": "a"}])
    _, _, err = run(emulator, "wait", "a", "--json-events", *QUICK)
    assert err.isascii() and any(event.get("status") == "\u009b2J naïve" for event in events(err))
