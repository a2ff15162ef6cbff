"""`agentjob batch run` and `agentjob batch status`, as processes of their own."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from types import SimpleNamespace

import pytest

import agentjob
from agentjob._cli.batch.run import Run, report_for
from agentjob._cli.batch.summary import Summary
from agentjob.testing import Emulator
from conftest import PATIENCE, read_until, tried, wait_for
from test_cli import QUICK, full_pipe, run, start
from test_cli_events import ERROR_KEYS

KEYS = ["item", "line", "key", "job_id", "delivery", "job", "error", "earlier", "extra"]
#: Holds every message for so long that a test can do something meanwhile.
SLOW = {"method": "POST", "status": 200, "delay_ms": 1000}
STALL = {"method": "POST", "from": 3, "fault": {"do": "stall", "at": "request", "ms": 1000 * 4 * PATIENCE}}


def service(jobs, **config):
    """A service that has the jobs of `messages`."""
    jobs = [{"id": f"job_{n}"} for n in range(1, jobs + 1)]
    return Emulator(**{"work_ms": 300, "hourly_limit": 100_000, "jobs": jobs, **config})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def messages(count, name="messages.jsonl"):
    with open(name, "w") as file:
        for n in range(1, count + 1):
            file.write(json.dumps({"job_id": f"job_{n}", "prompt": f"message {n}"}) + "\n")
    return name


def send_all(emulator, *flags, file="messages.jsonl", **options):
    """The exit status, the outcomes and stderr."""
    status, out, err = run(emulator, "batch", "run", file, "--journal", "night", *flags, **options)
    assert out.isascii()
    outcomes = [json.loads(line) for line in out.splitlines()]
    assert all(list(outcome) == KEYS for outcome in outcomes)
    return status, outcomes, err


def started(emulator, *flags, after=1):
    """A batch of which so many messages came to the service."""
    process = start(emulator, "batch", "run", "messages.jsonl", "--journal", "night", *flags)
    wait_for(lambda: emulator.requests()["total"] >= after, "messages came")
    return process


def to_resume(err):
    """The words of the command that resumes the batch, as a shell would read them."""
    command = re.search(r"to (?:resume|wait again).*:\n  (agentjob .*)\n", err)
    return shlex.split(command.group(1))[1:]


def times_sent(emulator):
    return Counter(message["prompt"] for message in emulator.ledger())


def test_every_message_is_sent_once_and_reported_as_it_completes(folder):
    messages(20)
    with service(20) as emulator:
        status, outcomes, err = send_all(emulator)
        assert status == 0 and sorted(outcome["line"] for outcome in outcomes) == list(range(1, 21))
        assert all(o["delivery"] == "accepted" and o["job"]["id"] == o["job_id"] and not o["earlier"] for o in outcomes)
        assert err == "agentjob: 20 messages\nagentjob: 20 messages: 20 accepted, 0 left\n"
        messages(22)
        status, outcomes, err = send_all(emulator)
        assert [o["earlier"] for o in outcomes].count(True) == 20
        assert err.startswith("agentjob: 22 messages; 20 already have outcomes from earlier runs\n")
        assert status == 3 and set(times_sent(emulator).values()) == {1}, "there is no job 21"


def test_other_columns_are_printed_with_the_outcome_if_a_flag_says_so(folder):
    (folder / "issues.tsv").write_text('job_id\tprompt\ttitle\njob_1\tone\t"A ""title"""\njob_2\ttwo\tAnother\n')
    with service(2) as emulator:
        status, outcomes, err = send_all(emulator, file="issues.tsv")
        assert (status, outcomes) == (2, []) and 'unknown column "title" (the nearest known one is' in err
        assert emulator.requests()["total"] == 0
        status, outcomes, _ = send_all(emulator, "--extra", file="issues.tsv")
        assert status == 0 and {o["item"]: o["extra"] for o in outcomes} == {1: {"title": 'A "title"'}, 2: {"title": "Another"}}
        assert "title" not in (folder / "night").read_text(), "the journal has no metadata"


def test_metadata_of_a_list_is_taken_as_it_is_written(folder):
    """Numbers that Python would write longer, or cannot have, are neither counted as longer nor refused."""
    longest = '{"n":1e20,"more":"%s"}'
    longest %= "x" * (4096 - len(longest % ""))
    extras = ['{"n":1e400}', longest]
    with open("messages.jsonl", "w") as file:
        file.writelines('{"job_id":"job_1","prompt":"message",' + extra[1:] + "\n" for extra in extras)
    with service(1) as emulator:
        status, outcomes, err = send_all(emulator, "--extra")
        assert status == 0, err
        assert {o["item"]: o["extra"] for o in outcomes} == {1: json.loads(extras[0]), 2: json.loads(extras[1])}


def test_metadata_with_a_lone_surrogate_is_refused_before_anything_is_sent(folder):
    with open("messages.jsonl", "w") as file:
        file.write('{"job_id":"job_1","prompt":"a"}\n{"job_id":"job_1","prompt":"b","n":["\\ud800"]}\n')
    with service(1) as emulator:
        status, _, err = send_all(emulator, "--extra")
        assert status == 2 and "messages.jsonl, line 2: extra contains a lone surrogate" in err
        assert emulator.ledger() == []


def test_messages_that_are_in_the_list_twice_are_noted_before_anything_is_sent(folder):
    records = "job_id,prompt\njob_1,one\njob_2,one\njob_1,one\njob_1,one\n"
    note = "line 4 repeats line 2, with the same job and the same prompt; so does 1 other message: each of them is sent"
    # A journal that cannot be opened: nothing is sent.
    with service(2) as emulator:
        status, out, err = run(emulator, "batch", "run", "-", "--format", "csv", "--journal", "/nowhere/night", stdin=records)
        assert (status, out) == (6, "") and err.startswith(f"agentjob: {note}\n") and emulator.requests()["total"] == 0
        status, outcomes, err = send_all(emulator, "--format", "csv", file="-", stdin=records)
        assert (status, len(outcomes)) == (0, 4) and err.startswith(f"agentjob: {note}\nagentjob: 4 messages\n")
        assert err.count("repeats") == 1 and len(emulator.ledger()) == 4
        _, _, err = send_all(emulator, "--format", "csv", "--json-events", file="-", stdin=records)
        events = [json.loads(line) for line in err.splitlines()]
        assert [event["event"] for event in events][:2] == ["repeated", "begin"]
        facts = {name: events[0][name] for name in ("count", "item", "line", "first_item", "first_line")}
        assert facts == {"count": 2, "item": 3, "line": 4, "first_item": 1, "first_line": 2}


def test_csv_and_stdin(folder):
    records = 'prompt,job_id\n"two\nlines",job_1\n"",job_2\n'
    with service(2) as emulator:
        status, outcomes, err = send_all(emulator, "--format", "csv", file="-", stdin=records)
        assert (status, outcomes, err) == (2, [], "agentjob: stdin, line 4: prompt is empty. Give at least one character.\n")
        status, outcomes, _ = send_all(emulator, "--format", "csv", file="-", stdin=records.replace('""', "x"))
        assert status == 0 and sorted(o["line"] for o in outcomes) == [2, 4]
        assert sorted(times_sent(emulator)) == ["two\nlines", "x"]


WRONG = [
    (["batch"], "usage"),
    (["batch", "walk"], "walk"),
    (["batch", "run"], "usage"),
    (["batch", "run", "messages.jsonl"], "--journal"),
    (["batch", "run", "nowhere.jsonl", "--journal", "night"], "nowhere.jsonl cannot be read: No such file or directory"),
    (["batch", "run", ".", "--journal", "night"], ". cannot be read: Is a directory"),
    (["batch", "run", "bad.jsonl", "--journal", "night"], "bad.jsonl, line 2, column 1: prompt is missing (and 1 more wrong line)"),
    (["batch", "run", "dots.jsonl", "--journal", "night"], "dots.jsonl, line 2: job_id is"),
    (["batch", "run", "-", "--journal", "night"], "stdin contains no messages"),
    (["batch", "run", "messages.jsonl", "--journal", ""], "journal is empty"),
    (["batch", "run", "messages.jsonl", "--journal", "night", "--rate", "fast"], 'rate is "fast"'),
    (["batch", "run", "messages.jsonl", "--journal", "night", "--concurrency", "0"], "concurrency is 0"),
    (["batch", "run", "messages.jsonl", "--journal", "night", "--format", "xml"], "--format"),
    (["batch", "run", "messages.jsonl", "--journal", "night", "--wait", "--min-interval", "-1"], "min_interval"),
    (["batch", "run", "messages.jsonl", "--journal", "night", "--quiet", "--json-events"], "not allowed"),
    (["batch", "status"], "usage"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=[" ".join(words) for words, _ in WRONG])
def test_status_2_is_a_wrong_command_or_file(words, said, folder):
    messages(3)
    (folder / "bad.jsonl").write_text('{"job_id":"job_1","prompt":"x"}\n{"job_id":"job_1"}\n[]\n')
    (folder / "dots.jsonl").write_text('{"job_id":"job_1","prompt":"x"}\n{"job_id":"..","prompt":"x"}\n')
    with service(3) as emulator:
        status, out, err = run(emulator, *words)
        assert (status, out) == (2, "") and said in err
        assert err.startswith("usage: ") or (err.startswith("agentjob: ") and err.count("\n") == 1)
        assert emulator.requests()["total"] == 0


@pytest.mark.parametrize("change", ["prompt", "gone"])
def test_a_list_that_was_changed_is_refused_with_its_line(change, folder):
    messages(3)
    with service(3) as emulator:
        assert send_all(emulator)[0] == 0
        lines = (folder / "messages.jsonl").read_text().splitlines()
        lines[1:2] = [lines[1].replace("message 2", "another")] if change == "prompt" else []
        (folder / "messages.jsonl").write_text("\n".join(lines))
        status, outcomes, err = send_all(emulator)
        assert (status, outcomes) == (2, []) and err.startswith("agentjob: messages.jsonl, line 2")
        assert len(emulator.ledger()) == 3


FAILED = {"outcome": "failed"}
REJECTED = {"rules": [{"path": "/v2/agent/demo/job/job_2/message", "status": 404}]}
LOST = {"path": "/v2/agent/demo/job/job_1/message", "fault": {"do": "close", "at": "response:12"}}
ENDS = {
    "all is well": ({}, [], 0),
    "and waited for": ({}, ["--wait"], 0),
    "jobs fail without --wait": (FAILED, [], 0),
    "jobs fail": (FAILED, ["--wait"], 1),
    "a message is refused": (REJECTED, [], 3),
    "jobs fail, a message is refused": ({**FAILED, **REJECTED}, ["--wait"], 3),
    "the key is wrong": ({"rules": [{"status": 401}]}, [], 6),
    "a wait is over": ({"work_ms": 60_000}, ["--wait", "--wait-timeout", "0.2"], 4),
    "a wait is refused": ({"work_ms": 60_000, "rules": [{"method": "GET", "status": 400}]}, ["--wait"], 3),
    "a response is lost": ({"rules": [LOST]}, [], 5),
    "a response is lost, a message is refused": ({"rules": [LOST, *REJECTED["rules"]]}, [], 5),
    "a response is lost, jobs fail": ({**FAILED, "rules": [LOST]}, ["--wait"], 5),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_exit_status_is_the_first_that_applies(name, folder):
    config, flags, expected = ENDS[name]
    messages(3)
    with service(3, **config) as emulator:
        status, outcomes, err = send_all(emulator, *flags, *(QUICK if flags else []))
        assert status == expected, err
        # Nothing is said of what went well.
        failed = [o for o in outcomes if o["error"] or (flags and o["job"]["status"] == "failed")]
        assert all(f"agentjob: item {o['item']} ({o['job_id']}, line {o['line']}): " in err for o in failed)
        assert len(re.findall(r"^agentjob: item \d+ \(job_\d, line \d\): (?!it may have)", err, re.M)) == len(failed)
        again = send_all(emulator, *flags, *(QUICK if flags else []))[0] if expected != 3 else expected
        assert again == expected, "the next run of it says the same"


def test_an_error_that_ends_a_run_counts_before_a_message_that_was_rejected():
    summary = Summary(SimpleNamespace(wait=False))
    summary.progress = {"unknown": 0, "rejected": 1}
    assert summary.status == 3
    summary.failure = agentjob.AuthenticationError("401")
    assert summary.status == 6
    summary.progress["unknown"] = 1
    assert summary.status == 5


def test_a_held_message_that_may_have_arrived_decides_the_exit_status():
    # It was to be sent again, so the progress counts it as left.
    summary = Summary(SimpleNamespace(wait=True))
    summary.progress = {"unknown": 0, "rejected": 0}
    accepted = {"delivery": "accepted", "error": None, "job": None}
    summary.add(accepted)
    assert summary.status == 0
    summary.add({**accepted, "delivery": "unknown", "item": 2, "line": None, "job_id": "a"})
    assert summary.status == 5


def test_an_error_is_an_object(folder):
    messages(2)
    with service(1) as emulator:
        _, outcomes, err = send_all(emulator)
    (outcome,) = [outcome for outcome in outcomes if outcome["error"]]
    assert list(outcome["error"]) == ERROR_KEYS and outcome["error"]["hint"].startswith("Check the job id") and outcome["job"] is None
    assert [outcome["error"][name] for name in ("kind", "delivery", "http_status")] == ["not_found", "rejected", 404]
    assert f"agentjob: item 2 (job_2, line 2): {outcome['error']['message']}\n" in err


def test_each_failure_is_one_line_with_its_place_and_the_error(folder):
    messages(4)
    rules = [LOST, *REJECTED["rules"], {"method": "GET", "path": "/v2/agent/demo/job/job_3", "status": 400}]
    with service(4, work_ms=60_000, rules=rules) as emulator:
        err = send_all(emulator, "--wait", "--wait-timeout", "4", *QUICK)[2]
    lines = {line.removeprefix("agentjob: ") for line in err.splitlines()}
    assert {
        "item 1 (job_1, line 1): message to job job_1 may have arrived: the connection was lost (the service closed it before the end of "
        "the response's head). Check the job before you send it again.",
        "item 2 (job_2, line 2): message to job job_2 was rejected: the service returned 404 (a rule of the emulator says so). "
        "Check the job id, the project id and the base URL. A later run does not send it again.",
        "item 3 (job_3, line 3): message to job job_3 was accepted, but waiting for its result ended: the service returned 400 "
        "(a rule of the emulator says so). Do not send it again.",
    } < lines
    (timed_out,) = (line for line in lines if line.startswith("item 4 "))
    # How often it polled, how many of the polls failed, and by how much it was late is the machine's affair.
    counted, waited = r"\((\d+) polls?(: [\w ,()]+)?\)", r"after (\d+\.\d) s"
    assert re.sub(counted, "(N polls)", re.sub(waited, "after W s", timed_out)) == (
        "item 4 (job_4, line 4): message to job job_4 was accepted, but waiting for its result timed out: the job was still active after W s "
        "(N polls). The job keeps running; wait again to follow it. Do not send it again."
    )
    assert int(re.search(counted, timed_out)[1]) >= 1 and float(re.search(waited, timed_out)[1]) >= 4


def test_a_platform_without_some_of_the_signals_has_batches(folder):
    messages(2)
    program = "import signal, sys; del signal.SIGHUP, signal.SIGTSTP; from agentjob.__main__ import console; sys.exit(console())"
    with service(2) as emulator:
        command = [sys.executable, "-c", program, "batch", "run", "messages.jsonl", "--journal", "night"]
        status, out, err = run(emulator, command=command)
    assert (status, len(out.splitlines())) == (0, 2), err


def test_an_unknown_message_is_listed_and_sent_again_only_on_request(folder):
    messages(3)
    with service(3, rules=[{**LOST, "nth": 1}]) as emulator:
        status, _, err = send_all(emulator)
        assert status == 5 and "\n  agentjob batch resolve night 1 --check\n" in err
        assert "agentjob: item 1 (job_1, line 1): it may have arrived; check the job\n" in err
        before = len(emulator.ledger())
        assert send_all(emulator)[0] == 5 and len(emulator.ledger()) == before
        assert send_all(emulator, "--resend-unknown")[0] == 0 and len(emulator.ledger()) == before + 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_waits_for_the_responses_and_prints_the_command_that_resumes(number, folder):
    messages(30)
    with service(30, rules=[SLOW]) as emulator:
        process = started(emulator, "--concurrency", "3", after=3)
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        again = "Ctrl-C again" if number == signal.SIGINT else "a second signal"
        assert process.returncode == 128 + number and "Traceback" not in err
        assert re.search(rf"^agentjob: stopping: [1-6] messages? in flight; {again} exits at once$", err, re.M)
        sent = len(emulator.ledger())
        assert f"agentjob: 30 messages: {sent} accepted, {30 - sent} left\n" in err and len(out.splitlines()) == sent < 30
        emulator.reset(**{"hourly_limit": 1000, "jobs": [{"id": f"job_{n}"} for n in range(1, 31)]})
        assert to_resume(err) == ["batch", "run", "messages.jsonl", "--journal", "night", "--concurrency", "3"]
        status, out, err = run(emulator, *to_resume(err))
        assert status == 0 and len(emulator.ledger()) == 30 - sent and len(out.splitlines()) == 30


def test_the_command_that_resumes_does_not_send_unknown_messages_again(folder):
    messages(12)
    with service(12, rules=[STALL]) as emulator:
        process = started(emulator, "--resend-unknown", "--grace", "0.2", after=3)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "it may have arrived" in err
    assert "--resend-unknown" not in to_resume(err)


def test_a_second_signal_exits_at_once(folder):
    messages(10)
    with service(10, rules=[STALL]) as emulator:
        process = started(emulator, "--grace", str(4 * PATIENCE), after=4)
        process.send_signal(signal.SIGINT)
        read_until(process.stderr, "stopping")
        time.sleep(0.3)  # the time is what is tested: a second signal sooner than this counts as the first one's echo
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130 and time.monotonic() - began < PATIENCE
        assert err == "agentjob: exited at once; the next run lists the messages that were in flight\n"
        assert run(emulator, "batch", "status", "night")[0] == 5


@pytest.mark.parametrize("flags", [[], ["--json-events"]], ids=["text", "events"])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_signal_ends_a_batch_whose_output_nobody_reads(stream, flags, folder):
    messages(30)
    with service(30, rules=[{"method": "POST", "delay_ms": 600}]) as emulator, full_pipe() as full:
        process = start(emulator, "batch", "run", "messages.jsonl", "--journal", "night", *flags, **{stream: full})
        wait_for(lambda: len(emulator.ledger()) >= 4, "messages came")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 143 and (stream == "stderr" or "exited at once" in err.splitlines()[-1])
        sent = len(emulator.ledger())
        progress = json.loads(run(emulator, "batch", "status", "night", "--json")[1])["progress"]
        assert sent < 30 and progress["accepted"] + progress["unknown"] == sent, "it sent nothing more"
        send_all(emulator)
        assert set(times_sent(emulator).values()) == {1} and len(emulator.ledger()) == 30


def test_a_signal_that_comes_twice_is_one(folder):
    messages(30)

    def attempt(n):
        (folder / "night").unlink(missing_ok=True)
        with service(30, rules=[SLOW]) as emulator:
            process = started(emulator, after=4)
            for _ in range(2):  # as a parent does that hands on what the terminal has sent to both
                process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=PATIENCE)
            # On a machine that stalls between the two, they are two.
            assert process.returncode == 130 and f"{len(emulator.ledger())} accepted" in err and "unknown" not in err

    tried(5, attempt)


def test_a_signal_that_the_parent_ignores_stays_ignored(folder):
    messages(4)
    with service(4, rules=[SLOW]) as emulator:
        command = f"trap '' INT; exec {shlex.quote(sys.executable)} -m agentjob batch run messages.jsonl --journal night"
        process = start(emulator, command=["sh", "-c", command])
        wait_for(lambda: emulator.requests()["total"] >= 1, "messages came")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0 and len(emulator.ledger()) == 4


def test_after_a_kill_the_next_run_resumes_and_sends_nothing_twice(folder):
    messages(40)
    with service(40, rules=[{**SLOW, "delay_ms": 40}]) as emulator:
        process = started(emulator, after=12)
        process.kill()
        process.communicate(timeout=PATIENCE)
        status, outcomes, err = send_all(emulator)
        unknown = {o["job_id"] for o in outcomes if o["delivery"] == "unknown"}
        assert len(outcomes) == 40 and len(unknown) <= 4 and status == (5 if unknown else 0)
        assert all(f"({o['job_id']}, line {o['line']}): it may have arrived" in err for o in outcomes if o["job_id"] in unknown)
        assert set(times_sent(emulator).values()) == {1}
        assert send_all(emulator, "--resend-unknown")[0] == 0 and len(times_sent(emulator)) == 40


def test_a_pause_is_reported_with_its_end(folder):
    messages(5)
    with service(5, hourly_limit=2) as emulator:
        process = started(emulator)
        line = read_until(process.stderr, "paused")[-1]
        assert re.match(r"agentjob: paused: rate limited until (\w+ )?\d\d:\d\d:\d\d\n", line)
        status, out, _ = run(emulator, "batch", "status", "night")
        assert status == 0 and f"running as process {process.pid}, since" in out and "not running" not in out
        assert "2 accepted, 3 left" in out and "paused: rate limited until" in out
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 130 and "agentjob: 5 messages: 2 accepted, 3 left\n" in err
        assert "paused" not in err, "those that were refused with it tell nothing new"
        process = start(emulator, "batch", "run", "messages.jsonl", "--journal", "night")
        assert process.stderr.readline() == "agentjob: 5 messages; 2 already have outcomes from earlier runs\n"
        assert process.stderr.readline().startswith("agentjob: paused: rate limited until ")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)


def test_a_service_failure_is_reported_with_its_reason_and_its_end(folder):
    messages(3)
    with service(3, rules=[{"method": "POST", "nth": 1, "status": 408}]) as emulator:
        status, _, err = send_all(emulator, "--concurrency", "1")
    assert status == 0 and len(emulator.ledger()) == 3
    paused = r"agentjob: paused: the service cannot be reached or fails; next attempt at [\d:]+ \(.*408.*\)\nagentjob: resumed\n"
    assert re.search(paused, err), err


def test_an_error_that_stops_the_batch_comes_before_the_summary(folder):
    messages(5)
    with service(5, rules=[{"from": 3, "status": 401}]) as emulator:
        status, outcomes, err = send_all(emulator, "--concurrency", "1")
    lines = err.splitlines()
    assert status == 6 and len(outcomes) == 2 and "401" in lines[1] and lines[2] == "agentjob: 5 messages: 2 accepted, 3 left"
    assert lines[-1] == "  agentjob batch run messages.jsonl --journal night --concurrency 1"


def test_a_file_that_is_not_a_journal_is_not_touched(folder):
    messages(2)
    (folder / "night").write_text("precious\n")
    with service(2) as emulator:
        assert send_all(emulator)[0] == 6 and emulator.requests()["total"] == 0
    assert (folder / "night").read_text() == "precious\n"


def test_a_damaged_journal_is_reported_before_anything_else(folder):
    messages(3)
    with service(3) as emulator:
        assert send_all(emulator, "--concurrency", "1")[0] == 0
        os.truncate("night", os.path.getsize("night") - 3)
        damaged = (folder / "night").read_bytes()
        status, out, _ = run(None, "batch", "status", "night")
        assert "bytes of the journal are skipped\n" in out
        status, _, err = send_all(emulator)
        assert status == 5
        assert re.match(r"agentjob: line 7 of the journal was cut off: \d+ bytes skipped\n", err), err
        (folder / "night").write_bytes(damaged)
        status, _, err = send_all(emulator, "--json-events")
        events = [json.loads(line) for line in err.splitlines()]
        assert status == 5 and [event["event"] for event in events] == ["recovered", "begin", "summary"]
        assert events[0]["journal_line"] == 7 and events[0]["dropped_bytes"] > 100
        assert len(emulator.ledger()) == 3


def test_a_reader_that_goes_away_stops_the_batch(folder):
    messages(60)
    with service(60, rules=[{**SLOW, "delay_ms": 500}]) as emulator:
        read, write = os.pipe()
        process = start(emulator, "batch", "run", "messages.jsonl", "--journal", "night", stdout=write)
        os.close(write)
        os.read(read, 10)
        os.close(read)
        _, err = process.communicate(timeout=PATIENCE)
        sent = len(emulator.ledger())
        assert process.returncode == 6 and sent < 60 and "Traceback" not in err and "could not be written" not in err
        assert f"agentjob: 60 messages: {sent} accepted, {60 - sent} left\n" in err and to_resume(err)


@pytest.mark.parametrize(("broken", "status"), [(">/dev/full", 6), (">&-", 0), ("2>/dev/full", 0), (">/dev/null 2>&-", 0)])
def test_a_dead_output_loses_no_message(broken, status, folder):
    messages(3)
    with service(3) as emulator:
        command = f"{shlex.quote(sys.executable)} -m agentjob batch run messages.jsonl --journal night {broken}"
        environment = {**os.environ, **emulator.environment()}
        done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == status and "Traceback" not in done.stderr
        assert ("an outcome could not be written" in done.stderr) == (status == 6)
        assert send_all(emulator)[0] == 0 and len(emulator.ledger()) == 3


def test_quiet_reports_only_a_bad_end(folder):
    messages(3)
    with service(2) as emulator:
        messages(2)
        assert send_all(emulator, "--quiet")[2] == ""
        messages(3)
        assert send_all(emulator, "--quiet")[2] == "agentjob: 3 messages: 2 accepted, 1 rejected, 0 left\n"


def test_polls_that_get_a_login_page_are_reported_once_for_all_jobs(folder):
    messages(3)
    with service(3, rules=[{"method": "GET", "status": 200, "body": "<html>Log in</html>"}]) as emulator:
        _, outcomes, err = send_all(emulator, "--wait", "--wait-timeout", "1", *QUICK)
    assert len(outcomes) == 3 and all("the last poll failed" in outcome["error"]["reason"] for outcome in outcomes)
    assert len(re.findall(r"^agentjob: job job_\d: 5 polls in a row failed: the record in the response", err, re.MULTILINE)) == 1
    options = SimpleNamespace(json_events=False, wait=True, quiet=False, json=True)
    assert Run(options, report_for(options)).on_event is None, "events other than warnings are neither timed nor kept"


def test_events_are_objects(folder):
    messages(3)
    with service(3, work_ms=300, rules=[{**LOST, "nth": 1}]) as emulator:
        status, _, err = send_all(emulator, "--wait", "--json-events", *QUICK)
    events = [json.loads(line) for line in err.splitlines()]
    assert status == 5 and {event["event"] for event in events} >= {"begin", "accepted", "summary"}
    assert events[0]["event"] == "begin" and events[0]["earlier"] == 0 and events[0]["progress"]["items"] == 3
    end = events[-1]
    assert end["event"] == "summary" and end["status"] == 5 and end["resume"] is None
    assert end["check"] == "agentjob batch resolve night 1 --check"
    assert end["unknown"] == [{"item": 1, "line": 1, "job_id": "job_1"}] and end["progress"]["unknown"] == 1
    requests = [(event["event"], event["item"], event.get("status")) for event in events if event["event"] in ("attempt", "response")]
    assert {("attempt", 1, None), ("attempt", 2, None), ("response", 2, 200), ("attempt", 3, None), ("response", 3, 200)} <= set(requests)
    assert "poll" in {event["event"] for event in events}
    paused = [event for event in events if event["event"] == "paused"]
    assert len(paused) == 1, "each pause is there once"
    assert all(event["error"]["kind"] and event["reason"] == "service_failure" for event in paused)


def test_the_end_of_a_batch_is_an_event_too(folder):
    messages(20)
    with service(20, rules=[STALL]) as emulator:
        process = started(emulator, "--json-events", "--grace", "60", after=5)
        assert json.loads(process.stderr.readline())["event"] == "begin"
        process.send_signal(signal.SIGTERM)
        lines = map(json.loads, iter(process.stderr.readline, ""))
        stopping = next(event for event in lines if event["event"] not in ("attempt", "response", "paused"))
        assert (stopping["event"], stopping.get("signal")) == ("stopping", "SIGTERM"), stopping
        time.sleep(0.3)  # as above: not an echo of the first signal
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 143 and json.loads(err.splitlines()[-1])["event"] == "left"
        process = started(emulator, "--json-events", "--grace", "0.1", after=emulator.requests()["total"] + 1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
    end = json.loads(err.splitlines()[-1])
    assert end["event"] == "summary" and end["status"] == process.returncode == 143
    assert end["resume"] == "agentjob batch run messages.jsonl --journal night --json-events --grace 0.1"


def test_the_status_of_a_journal(folder):
    messages(60)
    rules = [{"path": f"/v2/agent/demo/job/job_{n}/message", "status": 404} for n in range(1, 31)]
    lost = {**LOST, "path": "/v2/agent/demo/job/job_31/message"}
    with service(60, rules=[*rules, lost]) as emulator:
        assert run(emulator, "batch", "status", "night")[0] == 3
        assert send_all(emulator, "--rate", "1000/s")[0] == 5
    status, out, err = run(None, "batch", "status", "night")
    assert (status, err) == (5, "") and "not running; last written" in out and "1 run" in out
    assert "60 messages: 29 accepted, 30 rejected, 1 unknown, 0 left; at most 1000/s\n" in out
    assert "  item 31: message to job job_31 may have arrived: " in out
    refused = "message to job job_20 was rejected: the service returned 404. Check"
    assert f"  item 20: {refused}" in out and "\n  and 10 more; --json lists them all\n" in out
    assert "\nnext:\n  agentjob batch resolve night 31 --check " in out and "\n  agentjob batch retry night all " in out
    status, out, err = run(None, "batch", "status", "night", "--json")
    journal = json.loads(out)
    assert status == 5 and len(journal["rejected"]) == 30 and [(item["item"], item["job_id"]) for item in journal["unknown"]] == [(31, "job_31")]
    (folder / "other").write_text("x")
    status, out, err = run(None, "batch", "status", "other")
    assert (status, out) == (3, "") and err.startswith("agentjob: journal ") and err.count("\n") == 1


def test_other_commands_do_not_load_the_batch_modules(emulator):
    code = f"""if True:
        import sys
        from agentjob._cli.main import main
        assert main(["send", "job_demo", "go", "--wait", *{QUICK!r}]) == 0
        assert not [name for name in sys.modules if name.startswith("agentjob._cli.batch.") or name == "csv"]
    """
    environment = {**os.environ, **emulator.environment()}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
