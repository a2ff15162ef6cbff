"""The command line, as its own process."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

import agentjob
from agentjob._cli.record import pretty
from conftest import PATIENCE, arrived, unix, wait_for

QUICK = ["--min-interval", "0.02", "--max-interval", "0.05"]


def start(emulator, *words, **options):
    environment = dict(os.environ)
    environment.update(emulator.environment() if emulator else {})
    environment.update(options.pop("env", {}))
    command = options.pop("command", None) or [sys.executable, "-m", "agentjob", *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8", **options}
    return subprocess.Popen(command, env=environment, **pipes)


def run(emulator, *words, stdin="", **options):
    """The exit status, stdout and stderr of a command."""
    process = start(emulator, *words, **options)
    out, err = process.communicate(stdin, timeout=PATIENCE)
    assert "Traceback" not in err
    return process.returncode, out, err


@contextlib.contextmanager
def full_pipe():
    """A pipe that takes no more, and has a reader that does not read."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    try:
        yield write
    finally:
        os.close(read)
        os.close(write)


def test_a_wait_whose_every_poll_gets_a_login_page_says_so_once(emulator):
    emulator.reset(rules=[{"method": "GET", "status": 200, "body": "<html>Log in</html>"}])
    status, _, err = given_five_polls(lambda seconds: run(emulator, "wait", "job_demo", *QUICK, "--wait-timeout", seconds))
    why = "the record in the response (200) cannot be used: it is not JSON (expected value at line 1 column 1)"
    assert status == 4 and err.count(f"agentjob: 5 polls in a row failed: {why}; still waiting\n") == 1
    assert re.search(r"; the last poll failed: " + re.escape(why) + r"\. Check base_url: a proxy", err)
    assert "Log in" not in err
    quiet = given_five_polls(lambda seconds: run(emulator, "wait", "job_demo", *QUICK, "--wait-timeout", seconds, "--quiet"))
    assert "in a row" not in quiet[2]


def given_five_polls(wait):
    """Runs a wait that gets more and more seconds until it has made five polls: a machine that stands still makes fewer."""
    for seconds in ("1", "4", "16", "64"):
        ended = wait(seconds)
        polls = re.search(r"\((\d+) polls?: ", ended[2])
        assert polls, ended
        if int(polls[1]) >= 5:
            return ended
    raise AssertionError(f"even 64 s were not enough: {ended[2]}")


#: `agentjob demo` with an emulator whose every poll gets a login page, in so many seconds.
DEMO = """
import sys
from agentjob import testing
from agentjob._cli import main

SECONDS = float(sys.argv.pop())

class LoginPage(testing.Emulator):
    def __init__(self, **options):
        super().__init__(**options, rules=[{"method": "GET", "status": 200, "body": "<html>Log in</html>"}])

class Quick(main.Wait):
    def __init__(self, options, *given):
        options.min_interval, options.max_interval, options.wait_timeout = 0.02, 0.1, SECONDS
        super().__init__(options, *given)

testing.Emulator, main.Wait = LoginPage, Quick
sys.exit(main.main())
"""


def test_a_demo_whose_polls_keep_failing_says_so_once_as_any_wait(emulator):
    status, _, err = given_five_polls(lambda seconds: run(None, command=[sys.executable, "-c", DEMO, "demo", seconds]))
    assert status == 4 and err.count("agentjob: 5 polls in a row failed: ") == 1, err


def test_send_prints_the_record(emulator):
    status, out, err = run(emulator, "send", "job_demo", "Also cover the error cases")
    assert (status, err) == (0, "")
    assert json.loads(out)["id"] == "job_demo" and out.startswith('{\n  "id"')
    assert emulator.ledger()[0]["prompt"] == "Also cover the error cases"


def test_a_prompt_comes_from_stdin(emulator):
    status, out, err = run(emulator, "send", "job_demo", "-", stdin="two\nlines, naïve\n")
    assert status == 0, err
    # The test itself writes the line end of its platform.
    assert emulator.ledger()[0]["prompt"] == f"two{os.linesep}lines, naïve"


def test_the_byte_order_mark_before_a_prompt_on_stdin_is_not_sent(emulator):
    assert run(emulator, "send", "job_demo", "-", stdin="\ufefftwo\ufeff\n")[0] == 0
    assert run(emulator, "create", "-", stdin="\ufeffnew\n")[0] == 0
    assert [message["prompt"] for message in emulator.ledger()] == ["two\ufeff", "new"]


def test_send_and_wait_goes_to_the_end(emulator):
    status, out, err = run(emulator, "send", "job_demo", "go", "--wait", *QUICK)
    assert status == 0 and json.loads(out)["status"] == "completed"
    assert "\x1b" not in err and re.search(r"agentjob: active \(\d+ s\)\n.*completed", err, re.S), err


def test_quiet_prints_no_progress(emulator):
    assert run(emulator, "send", "job_demo", "go", "--wait", "--quiet", *QUICK)[2] == ""


def test_get_wait_and_create(emulator):
    assert json.loads(run(emulator, "get", "job_busy")[1])["status"] == "active"
    assert json.loads(run(emulator, "wait", "job_demo")[1])["status"] == "completed"
    status, out, _ = run(emulator, "create", "Fix it")
    assert status == 0 and json.loads(out)["id"] != "job_demo"
    status, out, err = run(emulator, "create", "Fix it", "--wait", *QUICK)
    assert status == 0 and json.loads(out)["status"] == "completed"
    assert "created job" in err


def test_status_1_is_a_failed_job(emulator):
    emulator.reset(work_ms=300, outcome="failed")
    status, out, _ = run(emulator, "send", "job_demo", "go", "--wait", *QUICK)
    assert status == 1 and json.loads(out)["status"] == "failed"
    assert run(emulator, "wait", "job_demo")[0] == 1


USAGE = [
    [],
    ["sned", "job_demo", "x"],
    ["send", "job_demo"],
    ["send", "job_demo", ""],
    ["get", ".."],
    ["get", "job_demo", "--timeout", "0"],
    ["get", "job_demo", "--timeout", "soon"],
    ["get", "job_demo", "--api-key", "x"],
    ["get", "job_demo", "--base-url", "ftp://x"],
    ["get", "job_demo", "--ca-file", "/nowhere"],
    ["wait"],
    ["wait", "job_demo", "--wait-timeout", "never"],
    ["wait", "--resume", "{}"],
    ["get", "job_demo", "--quiet", "--json-events"],
    ["completion", "fish"],
    ["emulator", "--nonsense"],
]


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_status_2_is_a_wrong_command(emulator, words):
    status, out, err = run(emulator, *words)
    assert (status, out) == (2, "") and err
    assert emulator.requests()["total"] == 0


def test_a_prompt_that_is_not_text_is_a_wrong_command(emulator):
    process = start(emulator, "send", "job_demo", "-", encoding=None)
    _, err = process.communicate(b"\xff\xfe", timeout=PATIENCE)
    assert process.returncode == 2 and b"UTF-8" in err


def test_missing_settings_are_named(emulator):
    status, _, err = run(None, "get", "job_demo")
    assert status == 2 and err.startswith("agentjob: base_url is missing") and err.count("\n") == 1


@pytest.mark.parametrize("words", [["get", "nobody"], ["send", "nobody", "go"], ["wait", "nobody"]], ids=" ".join)
def test_status_3_is_refused(emulator, words):
    status, out, err = run(emulator, *words)
    assert (status, out) == (3, "")
    assert err.splitlines()[-1].startswith("agentjob: ") and "404" in err


def test_status_4_is_a_wait_that_timed_out(emulator):
    status, out, err = run(emulator, "wait", "job_busy", "--wait-timeout", "2", *QUICK)
    assert (status, out) == (4, "") and "still active" in err


def test_status_5_is_a_message_that_may_have_arrived(emulator):
    emulator.reset(rules=[{"fault": {"do": "close", "at": "request", "process": True}}])
    status, out, err = run(emulator, "send", "job_demo", "go", "--wait")
    assert (status, out) == (5, "") and "Check the job" in err


@unix
def test_status_130_is_an_interrupt(emulator):
    process = start(emulator, "wait", "job_busy")
    wait_for(lambda: emulator.requests()["total"] >= 1, "it waits")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "") and "agentjob: interrupted\n" in err
    assert "Traceback" not in err


@unix
def test_an_interrupted_message_has_its_delivery_verdict(emulator):
    emulator.reset(rules=[{"fault": {"do": "stall", "at": "request"}}])
    for words in (["send", "job_demo", "go"], ["send", "job_demo", "go", "--wait"]):
        before = arrived(emulator)
        process = start(emulator, *words)
        wait_for(lambda: arrived(emulator) == before + 1, "the message is there")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (130, "")
        assert "may have arrived" in err and "agentjob wait" not in err, err
        assert err.endswith("to see whether it arrived:\n  agentjob get job_demo\n"), err
    # The command is for the same service, and it works.
    emulator.reset(rules=[{"method": "POST", "fault": {"do": "close", "at": "request"}}])
    status, _, err = run(emulator, "send", "job_demo", "go", "--timeout", "7")
    shown = err.splitlines()[-1]
    assert (status, shown) == (5, "  agentjob get --timeout 7.0 job_demo")
    status, out, _ = run(emulator, *shlex.split(shown)[1:])
    assert (status, json.loads(out)["id"]) == (0, "job_demo")


def test_the_version(emulator):
    assert run(None, "--version") == (0, f"agentjob {agentjob.__version__}\n", "")


def test_a_key_file_is_read(emulator, tmp_path):
    key = tmp_path / "key"
    key.write_text(emulator.api_key + "\n")
    key.chmod(0o600)
    words = ["get", "job_demo", "--base-url", emulator.base_url, "--project-id", "demo", "--api-key-file", str(key)]
    assert run(None, *words)[0] == 0


@unix
def test_a_key_file_that_others_can_read_is_refused_with_the_command_that_fixes_it(emulator, tmp_path):
    key = tmp_path / "key"
    key.write_text(emulator.api_key)
    key.chmod(0o644)
    given = {"AGENTJOB_API_KEY": "", "AGENTJOB_API_KEY_FILE": str(key)}
    status, out, err = run(emulator, "get", "job_demo", env=given)
    assert (status, out) == (2, "") and f"run: chmod 600 {key}" in err, err
    assert run(emulator, "get", "job_demo", env={**given, "AGENTJOB_ALLOW_SHARED_KEY_FILE": "1"})[0] == 0
    subprocess.run(["chmod", "600", str(key)], check=True)
    assert run(emulator, "get", "job_demo", env=given)[0] == 0


def test_invisible_characters_of_the_service_are_escaped_on_a_terminal(emulator):
    hidden = "\u2028\u061c\u200b\u202e\u2066\U000e0041\x1b[2J\x9b"
    emulator.reset(rules=[{"status": 404, "json": {"error": f"no{hidden} job"}}])
    for command in ("get", "wait"):
        status, _, err = run(emulator, command, "job_1")
        assert status == 3 and "\\u{202e}" in err and "\\u{e0041}" in err, err
        assert not [char for char in hidden if char in err and char not in "[2J"], ascii(err)


def test_an_invisible_character_in_a_job_id_is_named_before_anything_is_sent(emulator):
    for words in (["get"], ["wait"], ["send"], ["send", "--wait"]):
        status, _, err = run(emulator, *words, "job_\u200bdemo", *["go"] * (words[0] == "send"))
        sentence = "job_id contains an invisible character (U+200B at byte 4). Give the id as the service shows it."
        assert status == 2 and err.startswith(f"agentjob: {sentence}\n"), err
    assert emulator.requests()["total"] == 0


def test_a_reader_that_goes_away_is_no_error(emulator):
    read, write = os.pipe()
    os.close(read)
    process = start(emulator, "get", "job_demo", stdout=write)
    os.close(write)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (3, "")


@unix
def test_the_emulator_serves_until_it_is_interrupted():
    process = start(None, "emulator", "--work-ms", "20")
    listening = json.loads(process.stdout.readline())
    client = agentjob.Client(
        base_url=listening["base_url"],
        api_key=listening["api_key"],
        project_id=listening["project_id"],
        trust_env=False,
    )
    assert client.get_job(listening["job_id"])["status"] == "completed"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "agentjob: interrupted\n")


def test_the_demo_shows_a_message_from_end_to_end():
    status, out, err = run(None, "demo")
    assert status == 0 and json.loads(out)["status"] == "completed"
    assert "active" in err and "completed" in err
    assert run(None, "demo", "--quiet")[2] == ""


@unix
@pytest.mark.parametrize("broken", [">&-", "2>&-", ">&- 2>&-", ">/dev/full", "2>/dev/full", "2> >(true)"])
def test_a_dead_output_never_hides_the_delivery_verdict(emulator, broken):
    before = len(emulator.ledger())
    command = f'"{sys.executable}" -m agentjob send job_demo hello --wait --min-interval 0.02 --max-interval 0.02 {broken}'
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, **emulator.environment()},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    lost = broken in (">&-", ">&- 2>&-", ">/dev/full")
    assert done.returncode == (5 if lost else 0), done.stderr
    assert len(emulator.ledger()) == before + 1
    assert "Traceback" not in done.stderr
    if broken in (">&-", ">/dev/full"):
        assert "the record could not be written, but the message was accepted" in done.stderr


@unix
def test_a_record_that_cannot_be_written_is_a_failure_of_get(emulator):
    command = f'"{sys.executable}" -m agentjob get job_demo >/dev/full'
    environment = {**os.environ, **emulator.environment()}
    done = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 3
    assert done.stderr.startswith("agentjob: the record could not be written: ")


def test_a_new_job_is_waited_for_although_the_service_does_not_find_it_yet(emulator):
    emulator.reset(work_ms=300, visible_after_ms=300)
    status, out, err = run(emulator, "create", "Write the tests", "--wait", *QUICK)
    assert (status, json.loads(out)["status"]) == (0, "completed"), err


RECORD = '{"id":"job_demo","status":"active","big":1e999,"small":-1E-999,"exact":1.00,"int":%s,"list":[],"deep":{"a":[{}, -0.0]},"text":"\\u00e9\\u2028"}'


def test_numbers_beyond_a_float_stay_as_the_service_wrote_them(emulator, tmp_path):
    digits = "7" * 5000
    emulator.reset(rules=[{"status": 200, "body": RECORD % digits}])
    strict = json.JSONDecoder(parse_constant=lambda name: pytest.fail(f"{name} is not JSON"), parse_int=str, parse_float=str)
    for words in (["get", "job_demo"], ["send", "job_demo", "p"], ["create", "p"]):
        status, out, err = run(emulator, *words)
        assert (status, err) == (0, "")
        record = strict.decode(out)
        assert (record["big"], record["small"], record["exact"], record["int"]) == ("1e999", "-1E-999", "1.00", digits)
        assert record["deep"] == {"a": [{}, "-0.0"]} and record["list"] == [] and record["text"] == "\u00e9\u2028"
        assert out.isascii() and out.startswith('{\n  "id": "job_demo",\n  "status": "active",\n  "source": {\n    "repository": null,')
    # Where Python has read the numbers they are valid, too.
    done = (RECORD % digits).replace("active", "completed")
    emulator.reset(rules=[{"status": 200, "body": done}])
    status, out, err = run(emulator, "send", "job_demo", "p", "--wait", "--settle", "0", "--json-events")
    assert status == 0 and strict.decode(out)["big"] == "1e999"
    updates = [event for event in map(strict.decode, err.splitlines()) if event["event"] == "update"]
    assert updates[0]["job"]["big"] == "1e999" and f'"int":"{digits}"' in err
    messages = tmp_path / "messages.jsonl"
    messages.write_text('{"job_id": "job_demo", "prompt": "p"}', "utf-8")
    status, out, _ = run(emulator, "batch", "run", str(messages), "--journal", str(tmp_path / "journal"))
    assert status == 0 and strict.decode(out)["job"]["big"] == "1e999" and f'"int":"{digits}"' in out


@pytest.mark.parametrize("digits", ["7" * 4300, "-" + "7" * 641])
def test_an_event_has_an_integer_in_full_whatever_python_allows(emulator, digits):
    emulator.reset(rules=[{"status": 200, "body": RECORD.replace("active", "completed") % digits}])
    for limit in ("640", "0"):
        status, out, err = run(emulator, "wait", "job_demo", "--json-events", env={"PYTHONINTMAXSTRDIGITS": limit})
        assert status == 0 and f'"int": {digits},' in out
        assert f'"int":{digits},' in err and '"big":1e999,' in err


def test_records_are_laid_out_as_json_dumps_does(emulator):
    for record in (emulator.client().get_job("job_demo"), {"id": "job_demo", "status": "x", "a": [1, [], {}, [[2]], {"b": "\ud800,]"}]}):
        assert pretty(json.dumps(record)) == json.dumps(record, indent=2) + "\n"


def test_connect_timeout_and_settle_are_settings(emulator):
    assert run(emulator, "get", "job_demo", "--connect-timeout", "0")[2].startswith("agentjob: connect_timeout is 0")
    emulator.reset(rules=[{"status": 200, "json": {"id": "job_demo", "status": "completed"}}])
    status, _, err = run(emulator, "send", "job_demo", "p", "--wait", "--settle", "0")
    assert status == 0 and emulator.requests()["total"] == 1, err
