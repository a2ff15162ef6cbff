"""A wait of the command line that ends before its job is done, and the command that it prints to resume."""

import json
import re
import shlex
import signal
import time

import pytest

from conftest import PATIENCE, arrived, read_until, tried, wait_for
from test_cli import QUICK, run, start

#: What a command shows of a job, but not of its own activity: sending, polling.
STATUS = re.compile(r"^agentjob: (active|completed|failed|archived) \(\d+ s\)$", re.M)
HINT = "to keep waiting:\n  "


def interrupted(emulator, *words, after=None):
    """The stderr of a command that Ctrl-C ended after it got so far: to the first status that it shows."""
    process = start(emulator, *words)
    shown = "" if after else "".join(read_until(process.stderr, STATUS))
    (after or (lambda: time.sleep(0.05)))()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    err = shown + err
    assert (process.returncode, out) == (130, "") and "agentjob: interrupted\n" in err and "Traceback" not in err
    return err


def hinted(err):
    """The command that resumes, as a shell would read it."""
    words = shlex.split(err.partition(HINT)[2])
    assert words[:2] == ["agentjob", "wait"], err
    return words[1:]


def test_a_wait_resumes_where_it_was(emulator):
    flags = ["--base-url", emulator.base_url, "--timeout", "30", "--max-retries", "1", "--allow-plaintext"]
    words = hinted(interrupted(emulator, "wait", "job_busy", *flags, "--min-interval", "2"))
    assert words[1:-2] == ["--base-url", emulator.base_url, "--timeout", "30.0", "--max-retries", "1", "--allow-plaintext"]
    again = hinted(interrupted(emulator, *words))  # and once more
    first, second = json.loads(words[-1]), json.loads(again[-1])
    assert 1 <= first["state"]["polls"] <= second["state"]["polls"] and second["elapsed_ms"] > first["elapsed_ms"]
    emulator.client().send_message("job_busy", "come to an end")
    status, out, err = run(emulator, *again)
    assert (status, json.loads(out)["status"]) == (0, "completed"), err


def test_ctrl_c_does_not_wait_for_the_next_poll(emulator):
    began = time.monotonic()
    interrupted(emulator, "wait", "job_busy", "--min-interval", "60")
    assert time.monotonic() - began < PATIENCE / 2


def test_the_previous_result_is_not_taken_for_the_new_one(emulator):
    # The job looks finished for a while after the message, as it was before it.
    emulator.reset(work_ms=4000, stale_ms=3500)
    old = json.loads(run(emulator, "get", "job_demo")[1])
    err = interrupted(emulator, "send", "job_demo", "go", "--wait", "--min-interval", "0.1")
    assert "agentjob: the message was accepted; do not send it again\n" in err
    status, out, _ = run(emulator, *hinted(err))
    new = json.loads(out)
    assert old["status"] == new["status"] == "completed" and status == 0
    assert new["prLink"] != old["prLink"] and len(emulator.ledger()) == 1


def test_a_response_that_ctrl_c_cut_short_can_still_be_waited_for(emulator):
    words = "send", "job_demo", "go", "--wait", *QUICK

    def cut_short(n):
        emulator.reset(work_ms=4000, rules=[{"nth": 1, "status": 200, "drip": {"bytes": 160, "every_ms": 20_000}}])

        def after():
            wait_for(lambda: arrived(emulator), "it got a response")
            time.sleep(0.2 * 2**n)  # and now it is read

        err = interrupted(emulator, *words, after=after)
        assert "agentjob: the message was accepted; do not send it again\n" in err
        return err

    err = tried(6, cut_short)
    status, out, _ = run(emulator, *hinted(err))
    assert (status, json.loads(out)["status"]) == (0, "completed") and len(emulator.ledger()) == 1


def test_a_new_job_can_be_waited_for_later(emulator):
    emulator.reset(work_ms=4000, visible_after_ms=400)
    words = hinted(interrupted(emulator, "create", "Write the tests", "--wait", "--min-interval", "0.1"))
    status, out, err = run(emulator, *words)
    assert (status, json.loads(out)["status"]) == (0, "completed"), err


def test_a_failed_job_is_status_1_after_a_resume_too(emulator):
    emulator.reset(work_ms=4000, outcome="failed")
    words = hinted(interrupted(emulator, "send", "job_demo", "go", "--wait", "--min-interval", "0.1"))
    assert run(emulator, *words)[0] == 1


def test_a_wait_that_timed_out_prints_the_command_to_wait_again(emulator):
    emulator.reset(jobs=[{"id": "-x'y", "status": "active"}])
    flags = ["--wait-timeout", "1", "--base-url", emulator.base_url, *QUICK]
    status, _, err = run(emulator, "wait", *flags, "--", "-x'y")
    words = hinted(err)
    assert status == 4 and words == ["wait", "--base-url", emulator.base_url, "--", "-x'y"]
    emulator.reset(jobs=[{"id": "-x'y", "status": "completed"}])
    assert run(emulator, *words)[0] == 0


def test_a_wait_that_is_resumed_too_late_prints_the_command_to_wait_again(emulator):
    words = hinted(interrupted(emulator, "wait", "job_busy", "--wait-timeout", "60", "--min-interval", "1"))
    state = json.loads(words[-1])
    state["saved_at_unix_ms"] -= 60_000  # as if it was resumed a minute later
    status, _, err = run(emulator, *words[:-1], json.dumps(state))
    assert status == 4 and hinted(err) == ["wait", "job_busy"]


def test_no_fresh_wait_is_advised_where_it_would_take_the_previous_result(emulator):
    emulator.reset(stale_ms=60000)
    status, _, err = run(emulator, "send", "job_demo", "go", "--wait", "--wait-timeout", "0.3", *QUICK)
    assert status == 4 and HINT not in err and "Do not send it again" in err


def test_the_hint_is_ascii_whatever_the_job_is_called(emulator):
    job_id = "jöb 👩\u200d💻 'x'"
    emulator.reset(jobs=[{"id": job_id, "status": "active"}])
    err = interrupted(emulator, "wait", job_id, "--min-interval", "0.2")
    assert err.partition(HINT)[2].isascii()
    emulator.reset(jobs=[{"id": job_id}])
    assert json.loads(run(emulator, *hinted(err))[1])["id"] == job_id


def test_after_a_message_was_accepted_an_error_says_so(emulator):
    emulator.reset(rules=[{"method": "GET", "status": 401}])
    status, _, err = run(emulator, "send", "job_demo", "go", "--wait", *QUICK)
    said = "agentjob: message to job job_demo was accepted, but waiting for its result ended: the service returned 401 "
    assert status == 3 and said in err and err.endswith(" Do not send it again.\n") and err.count("accepted") == 1


@pytest.mark.parametrize("status", [401, 500])
def test_an_error_with_the_verdict_in_its_sentence_has_no_remark(emulator, status):
    emulator.reset(rules=[{"status": status}])
    err = run(emulator, "send", "job_demo", "go")[2]
    sentence, _, rest = err.partition("\n")
    assert sentence.startswith("agentjob: message to job job_demo ")
    assert rest == ("" if status == 401 else "to see whether it arrived:\n  agentjob get job_demo\n")


def test_a_demo_is_not_resumed(emulator):
    def attempt(_):
        process = start(None, "demo")
        read_until(process.stderr, "active")
        process.send_signal(signal.SIGINT)  # before the demo's job is done
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (130, "") and "agentjob wait" not in err

    tried(5, attempt)


@pytest.mark.parametrize("beside", [["job_demo"], ["--wait-timeout", "5"], ["--min-interval", "1"], ["--max-interval", "1"]])
def test_flags_that_the_resume_text_contains_are_refused_beside_it(emulator, beside):
    emulator.reset(jobs=[{"id": "job_busy", "status": "active"}])
    words = hinted(interrupted(emulator, "wait", "job_busy"))
    status, out, err = run(emulator, *words, *beside)
    assert (status, out) == (2, "") and f"leave out {beside[0].replace('job_demo', 'JOB')}:" in err


@pytest.mark.parametrize("form", ["--proxy {}", "--proxy={}"])
def test_a_command_that_is_printed_has_no_password_of_a_proxy(emulator, tmp_path, form):
    flags = form.format("http://me:sup3rs3cret@127.0.0.1:9").split()
    (tmp_path / "list.jsonl").write_text('{"job_id": "job_demo", "prompt": "go"}\n')
    batch = ["batch", "run", str(tmp_path / "list.jsonl"), "--journal", str(tmp_path / "night"), "--max-outage", "0.1"]
    for words in (["wait", "job_demo", "--wait-timeout", "0.2"], batch):
        for events in ([], ["--json-events"]):
            _, _, err = run(emulator, *words, *flags, *events)
            assert "http://***@127.0.0.1:9" in err and "sup3rs3cret" not in err, err
