"""The signals that end a command of the command line: Ctrl-C, SIGTERM and SIGHUP, all in one way. Those of a batch: test_cli_batch.py."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import termios
import textwrap
import time

import pytest

from conftest import PATIENCE, arrived, read_until, tried, wait_for
from test_cli import QUICK, full_pipe, run, start
from test_cli_batch import folder, messages, service  # noqa: F401, a fixture

SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
STALL = {"fault": {"do": "stall", "at": "request"}}
NOT_SENT = "agentjob: the message was not sent, so it may be sent again\n"
MAY_HAVE_ARRIVED = "agentjob: the message may have arrived; check the job before you send it again\n"
MAY_HAVE_BEEN_CREATED = "agentjob: the job may have been created; check the project's jobs before you create it again\n"
ACCEPTED = "agentjob: the message was accepted; do not send it again\n"


def interrupted(number):
    """The first line of a command that this signal ended."""
    return "agentjob: interrupted\n" if number == signal.SIGINT else f"agentjob: interrupted by {signal.Signals(number).name}\n"


def ended(process, number):
    """The stderr of a command that this signal ends, with the exit status that a shell shows then, and without a result."""
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (128 + number, "") and "Traceback" not in err, err
    return err


@SIGNALS
def test_a_signal_during_a_send_reports_the_verdict_and_exits_with_its_number(emulator, number):
    emulator.reset(rules=[STALL])
    to_check = MAY_HAVE_ARRIVED + "to see whether it arrived:\n  agentjob get job_demo\n"
    for words in (["send", "job_demo", "go"], ["send", "job_demo", "go", "--wait"], ["create", "go"], ["create", "go", "--wait"]):
        before = arrived(emulator)
        process = start(emulator, *words)
        wait_for(lambda: arrived(emulator) == before + 1, "the message is there")
        said = MAY_HAVE_BEEN_CREATED if words[0] == "create" else to_check
        assert ended(process, number).endswith(interrupted(number) + said)


@SIGNALS
def test_a_signal_during_a_wait_prints_the_command_that_resumes(emulator, number):
    for words in (["wait", "job_busy", "--min-interval", "0.5"], ["send", "job_busy", "go", "--wait", "--min-interval", "0.5"]):
        emulator.reset(work_ms=600_000, jobs=[{"id": "job_busy", "status": "active"}])
        process = start(emulator, *words)
        read_until(process.stderr, "active")
        err = ended(process, number)
        assert err.startswith(interrupted(number) + (ACCEPTED if words[0] == "send" else "") + "to keep waiting:\n  agentjob wait ")
        emulator.reset(jobs=[{"id": "job_busy"}])
        status, out, err = run(emulator, *shlex.split(err.splitlines()[-1])[1:])
        assert (status, json.loads(out)["status"]) == (0, "completed"), err


def test_a_signal_during_a_get_a_demo_and_the_emulator_exits_with_its_number(emulator):
    emulator.reset(rules=[STALL])
    process = start(emulator, "get", "job_demo")
    wait_for(lambda: arrived(emulator) == 1, "the request is there")
    assert ended(process, signal.SIGTERM) == interrupted(signal.SIGTERM)
    process = start(None, "demo")
    read_until(process.stderr, "active")
    assert ended(process, signal.SIGTERM).endswith(interrupted(signal.SIGTERM) + ACCEPTED)
    process = start(None, "emulator")
    process.stdout.readline()
    assert ended(process, signal.SIGTERM) == interrupted(signal.SIGTERM)


def test_a_signal_is_an_event_with_the_verdict(emulator):
    emulator.reset(rules=[STALL])
    process = start(emulator, "send", "job_demo", "go", "--json-events")
    wait_for(lambda: arrived(emulator) == 1, "the message is there")
    error = json.loads(ended(process, signal.SIGHUP).splitlines()[-1])
    assert (error["event"], error["kind"], error["delivery"]) == ("error", "interrupted", "unknown")
    assert error["message"] == "interrupted by SIGHUP"
    assert (error["resume"], error["check"]) == (None, "agentjob get job_demo")
    assert (error["attempts"], error["elapsed"]) == (None, None), "neither is 0"


@pytest.mark.parametrize("words", [["send", "job_demo", "-"], ["create", "-"]], ids=" ".join)
def test_a_signal_while_the_prompt_is_read_says_that_nothing_was_sent(emulator, words):
    process = start(emulator, *words)
    wait_until_it_reads(process)
    assert ended(process, signal.SIGTERM) == interrupted(signal.SIGTERM) + NOT_SENT
    process = start(emulator, *words, "--json-events")
    wait_until_it_reads(process)
    assert json.loads(ended(process, signal.SIGTERM))["delivery"] == "not_sent"
    assert emulator.requests()["total"] == 0


def test_a_signal_while_a_batch_reads_its_list_exits_with_its_number(emulator, tmp_path):
    process = start(emulator, "batch", "run", "-", "--journal", str(tmp_path / "night"))
    wait_until_it_reads(process)
    assert ended(process, signal.SIGTERM) == interrupted(signal.SIGTERM)
    assert not (tmp_path / "night").exists()


def test_a_signal_while_the_record_is_printed_says_that_the_message_was_accepted(emulator):
    emulator.reset(rules=[{"status": 200, "json": {"id": "job_demo", "status": "active", "long": "x" * 1_000_000}}])
    process = start(emulator, "send", "job_demo", "go")
    process.stdout.read(1)  # it prints, and no more is read
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE)  # the pipe is still full
    assert (process.returncode, process.stderr.read()) == (143, interrupted(signal.SIGTERM) + ACCEPTED)


#: Runs a command with a signal at a certain moment, which no test can meet from outside.
AT = """
import os, signal, sys, time, agentjob
from agentjob import _cli
from agentjob._cli import main, output, prompt, signals, wait
from agentjob.__main__ import console as run

def now():
    os.kill(os.getpid(), signal.SIGTERM)

def before(module, name):
    function = getattr(module, name)
    setattr(module, name, lambda *given, **named: (now(), function(*given, **named))[1])

def after(module, name):
    function = getattr(module, name)
    setattr(module, name, lambda *given, **named: (function(*given, **named), now())[0])

class Late:  # Python deletes it when it has taken the handlers back
    def __del__(self, kill=os.kill, to=(os.getpid(), signal.SIGTERM)):
        kill(*to)

def in_exit_of_the_client():
    make = main.client
    class Closing:
        def __init__(self, *given):
            self.service = make(*given)
        def __enter__(self):
            return self.service.__enter__()
        def __exit__(self, *raised):
            now()
            return self.service.__exit__(*raised)
    main.client = Closing

{when}
sys.exit(run())
"""


@pytest.mark.parametrize(
    ("when", "words", "expected"),
    [
        ("before(main, 'parser')", ["send", "job_demo", "go"], interrupted(signal.SIGTERM) + NOT_SENT),
        ("before(main, 'report_for')", ["create", "go"], interrupted(signal.SIGTERM) + NOT_SENT),
        ("before(main, 'client')", ["send", "job_demo", "go"], interrupted(signal.SIGTERM) + NOT_SENT),
        ("before(main, 'emit')", ["send", "job_demo", "go"], interrupted(signal.SIGTERM) + ACCEPTED),
        ("before(main, 'emit')", ["create", "go"], interrupted(signal.SIGTERM) + ACCEPTED + "agentjob: the new job is job_1\n"),
        ("before(main, 'finish')", ["create", "go", "--wait", *QUICK], interrupted(signal.SIGTERM) + ACCEPTED),
    ],
    ids=["before the flags are parsed", "while modules load", "before the call", "after a send", "after a create", "after a wait"],
)
def test_a_signal_between_two_steps_has_the_verdict(emulator, when, words, expected):
    emulator.reset(work_ms=20)
    status, out, err = run(emulator, command=[sys.executable, "-c", AT.format(when=when), *words])
    assert (status, out) == (143, "") and err.endswith(expected), err


#: Sends a signal when Python looks for a module, or inside what Python calls meanwhile, where an exception would get lost.
LOADING = """
import os, signal, sys, weakref

class Value:
    pass

def now(*_):
    os.kill(os.getpid(), signal.SIGTERM)

class Finder:
    def find_spec(name, *_):
        if name == {module!r}:
            value = Value()
            finalizer = weakref.ref(value, now)
            {how}

sys.meta_path.insert(0, Finder)
from agentjob.__main__ import console
sys.exit(console())
"""


@pytest.mark.parametrize("how", ["now()", "del value"])
@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("agentjob._cli.main", ["send", "job_demo", "go"]),
        ("agentjob._cli.arguments", ["create", "-"]),
        ("agentjob._cli.batch.run", ["batch", "run", "-", "--journal", "night"]),
    ],
    ids=["at the start", "its flags", "a batch's"],
)
def test_a_signal_while_modules_load_is_reported_with_the_verdict(emulator, module, words, how):
    for flags in ([], ["--json-events"]):
        command = [sys.executable, "-c", LOADING.format(module=module, how=how), *words, *flags]
        status, out, err = run(emulator, command=command)
        assert (status, out, emulator.requests()["total"]) == (143, "", 0), err
        if not flags:
            assert err == interrupted(signal.SIGTERM) + (NOT_SENT if words[0] != "batch" else "")
            continue
        error = json.loads(err)
        assert (error["kind"], error["message"]) == ("interrupted", "interrupted by SIGTERM")
        assert error["delivery"] == ("not_sent" if words[0] != "batch" else None)


def test_a_signal_whose_exception_gets_lost_is_reported_after_a_while(emulator):
    emulator.reset(rules=[STALL])
    when = "import weakref; prompt.prompt = object.__new__(type('Prompt', (), {})); finalizer = weakref.ref(prompt.prompt, lambda _: now())"
    when += "; own = main.read_prompt; main.read_prompt = lambda text: (delattr(prompt, 'prompt'), own(text))[1]"
    process = start(emulator, command=[sys.executable, "-c", AT.format(when=when), "send", "job_demo", "go"])
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143 and err.startswith("Exception ignored in"), err
    assert err.endswith(interrupted(signal.SIGTERM) + MAY_HAVE_ARRIVED + "to see whether it arrived:\n  agentjob get job_demo\n")


def test_a_prompt_that_looks_like_a_flag_changes_no_report(emulator):
    command = [sys.executable, "-c", AT.format(when="before(main, 'parser')"), "send", "job_demo", "--", "--json-events"]
    status, out, err = run(emulator, command=command)
    assert (status, out, err) == (143, "", interrupted(signal.SIGTERM) + NOT_SENT)


def test_a_signal_while_python_shuts_down_changes_nothing(emulator):
    for words in (["send", "job_demo", "go"], ["get", "job_demo"], ["get", "job_gone"], ["--version"], ["send"]):
        quiet = run(emulator, *words)
        assert run(emulator, command=[sys.executable, "-c", AT.format(when="late = Late()"), *words])[0] == quiet[0]


def test_after_the_command_line_a_program_handles_its_signals_again(emulator):
    code = """
        import signal, sys
        from agentjob.__main__ import main
        numbers = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
        before = [signal.getsignal(number) for number in numbers]
        for _ in range(2):
            assert main() == 0 and [signal.getsignal(number) for number in numbers] == before
        import os
        from agentjob._cli import main as command_line
        signal.signal(signal.SIGALRM, own := lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 1000)
        command_line.client = lambda *_: os.kill(os.getpid(), signal.SIGTERM)
        assert main() == 143 and signal.getsignal(signal.SIGALRM) == own and signal.getitimer(signal.ITIMER_REAL)[0] > 900
        assert [signal.getsignal(number) for number in numbers] == before
    """
    status, _, err = run(emulator, command=[sys.executable, "-c", textwrap.dedent(code), "get", "job_demo"])
    assert (status, err) == (0, interrupted(signal.SIGTERM))


def test_a_signal_while_an_error_is_reported_does_not_hide_it(emulator):
    emulator.reset(rules=[{"fault": {"do": "close", "at": "request"}}])
    moments = ("before(main, 'fail')", "before(main, 'add_known')", "before(main.Progress, 'fail')", "after(main.Progress, 'end')")
    for when in moments:
        status, out, err = run(emulator, command=[sys.executable, "-c", AT.format(when=when), "send", "job_demo", "go"])
        assert (status, out) == (5, "") and "Check the job" in err and err.endswith("  agentjob get job_demo\n"), err


@pytest.mark.parametrize(
    "words", [["send", "job_demo", "go"], ["send", "job_demo", "go", "--wait"], ["create", "go"], ["get", "job_demo"]], ids=" ".join
)
def test_a_signal_while_the_client_closes_after_an_error_does_not_hide_it(emulator, words):
    emulator.reset(rules=[{"status": 409, "json": {"error": "the job is busy"}}])
    at = AT.format(when="in_exit_of_the_client()")
    status, out, err = run(emulator, command=[sys.executable, "-c", at, *words, "--json-events"])
    error = json.loads(err.splitlines()[-1])
    assert (status, out, error["kind"], error["http_status"]) == (3, "", "conflict", 409), err
    assert error["delivery"] == (None if words[0] == "get" else "rejected")


def test_a_signal_while_the_client_closes_after_a_wait_has_the_verdict(emulator):
    emulator.reset(work_ms=20)
    command = [sys.executable, "-c", AT.format(when="in_exit_of_the_client()"), "send", "job_demo", "go", "--wait", *QUICK]
    status, out, err = run(emulator, command=command)
    assert (status, out) == (143, "") and err.endswith(interrupted(signal.SIGTERM) + ACCEPTED), err


def test_a_signal_after_a_job_that_could_not_be_checked_is_an_interruption(folder):
    messages(1)
    with service(1, rules=[{"fault": {"do": "close", "at": "request"}}]) as emulator:
        assert run(emulator, "batch", "run", "messages.jsonl", "--journal", "night")[0] == 5
        emulator.reset(jobs=[])
        when = "from agentjob._cli.batch import resolve; before(resolve, 'place')"
        words = ["batch", "resolve", "night", "all", "--check"]
        status, _, err = run(emulator, command=[sys.executable, "-c", AT.format(when=when), *words])
        assert (status, err) == (143, interrupted(signal.SIGTERM))


def test_a_signal_after_the_record_was_read_changes_nothing(emulator):
    for words in (["send", "job_demo", "go"], ["create", "go"], ["get", "job_demo"]):
        for _ in range(5):
            process = start(emulator, *words)
            record = ""
            while not record.endswith("}\n"):
                record += os.read(process.stdout.fileno(), 1 << 16).decode()
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=PATIENCE)
            assert (process.returncode, out, err) == (0, "", "")


def test_a_signal_while_a_long_event_is_written_leaves_no_half_of_a_line(emulator):
    emulator.reset(rules=[{"status": 200, "json": {"id": "job_demo", "status": "active", "long": "x" * 200_000}}])
    process = start(emulator, "wait", "job_demo", "--json-events")
    room = fcntl.fcntl(process.stderr, fcntl.F_GETPIPE_SZ) if hasattr(fcntl, "F_GETPIPE_SZ") else 1 << 16
    waiting = lambda: int.from_bytes(fcntl.ioctl(process.stderr, termios.FIONREAD, bytes(4)), sys.byteorder)  # noqa: E731
    wait_for(lambda: waiting() > room // 2, "it writes a line that is longer than the pipe")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=PATIENCE)
    *_, update, error = map(json.loads, err.splitlines())
    assert (process.returncode, out, update["event"], error["kind"]) == (143, "", "update", "interrupted")
    assert error["resume"].startswith("agentjob wait --resume ")


def test_a_signal_when_the_result_is_printed_changes_nothing(emulator):
    status, out, err = run(emulator, command=[sys.executable, "-c", AT.format(when="before(sys, 'exit')"), "get", "job_demo"])
    assert (status, json.loads(out)["id"], err) == (0, "job_demo", "")


def test_a_signal_while_a_decision_is_written_does_not_hide_it(folder):
    messages(1)
    with service(1, rules=[{"fault": {"do": "close", "at": "request"}}]) as emulator:
        assert run(emulator, "batch", "run", "messages.jsonl", "--journal", "night")[0] == 5
        when = "from agentjob._cli.batch import resolve; after(resolve, 'batch_resolve')"
        words = ["batch", "resolve", "night", "1", "--arrived"]
        status, out, err = run(emulator, command=[sys.executable, "-c", AT.format(when=when), *words])
        assert (status, out, err) == (0, "item 1 (job_1): arrived\n", "")


def test_a_signal_does_not_limit_the_time_that_a_batch_and_a_decision_need(folder):
    messages(1)
    long = "signals.REPORT_SECONDS = 0.2; from agentjob._cli.batch import {0} as place; own = place.{1}"
    long += "; place.{1} = lambda *given, **named: (now(), time.sleep(0.7), own(*given, **named))[2]"
    with service(1, rules=[{"fault": {"do": "close", "at": "request"}}]) as emulator:
        words = ["batch", "run", "messages.jsonl", "--journal", "night"]
        status, _, err = run(emulator, command=[sys.executable, "-c", AT.format(when=long.format("run", "begin")), *words])
        assert status == 143 and "exited at once" not in err and "agentjob: 1 message: 0 accepted" in err, "it has its summary"
        assert run(emulator, *words)[0] == 5
        words = ["batch", "resolve", "night", "1", "--arrived"]
        status, out, err = run(emulator, command=[sys.executable, "-c", AT.format(when=long.format("resolve", "batch_resolve")), *words])
        assert (status, out, err) == (0, "item 1 (job_1): arrived\n", "")


def test_the_time_in_which_the_process_is_stopped_does_not_count_for_the_report(folder):
    messages(4)
    when = "signals.REPORT_SECONDS = 0.5"
    with service(4, rules=[{"delay_ms": 1500}]) as emulator:
        words = ["batch", "run", "messages.jsonl", "--journal", "night"]
        process = start(emulator, command=[sys.executable, "-c", AT.format(when=when), *words])
        wait_for(lambda: arrived(emulator) == 4, "the messages are there")
        process.send_signal(signal.SIGTERM)
        read_until(process.stderr, "stopping")
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.8)  # the time is what is tested
        process.send_signal(signal.SIGCONT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 143 and "exited at once" not in err and "4 accepted" in err, err


def test_a_signal_that_comes_twice_is_one(emulator):
    emulator.reset(rules=[STALL])

    def attempt(n):
        before = arrived(emulator)
        process = start(emulator, "send", "job_demo", "go")
        wait_for(lambda: arrived(emulator) == before + 1, "the message is there")
        for number in (signal.SIGTERM, signal.SIGHUP):  # as systemd and `timeout` send them
            process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
        # Of two that are pending the kernel delivers the one with the lower number first.
        assert process.returncode in (143, 129) and MAY_HAVE_ARRIVED in err and "Traceback" not in err

    tried(5, attempt)


def test_a_second_signal_ends_a_report_that_blocks(folder):
    messages(1)
    when = "signals.REPORT_SECONDS = 1e6"
    with service(1, rules=[STALL]) as emulator:
        for n, words in enumerate((["send", "job_1", "go"], ["batch", "run", "messages.jsonl", "--journal", "night"]), 1):
            with full_pipe() as stderr:
                process = start(emulator, command=[sys.executable, "-c", AT.format(when=when), *words], stderr=stderr)
                wait_for(lambda: arrived(emulator) == n, "the message is there")
                for _ in range(PATIENCE * 3):
                    process.send_signal(signal.SIGTERM)  # for 0.15 s it counts as the first one's echo
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(0.3)
                        break
                assert process.returncode == 143


def test_one_signal_ends_a_report_that_blocks(emulator):
    emulator.reset(rules=[STALL])
    commands = ["send", "job_demo", "go"], ["send", "job_demo", "go", "--wait"], ["create", "go", "--json-events"], ["get", "job_demo"]
    at = [sys.executable, "-c", AT.format(when="now = lambda: print(flush=True); before(main, 'client')")]
    with full_pipe() as stderr:
        processes = [start(emulator, command=[*at, *words], stderr=stderr) for words in commands]
        for process in processes:
            process.stdout.readline()  # from here on it sends, or waits to write its progress
            process.send_signal(signal.SIGTERM)
        assert [process.wait(PATIENCE) for process in processes] == [143] * len(processes)


@pytest.mark.parametrize("name", ["INT", "TERM", "HUP"])
def test_a_signal_that_the_parent_ignores_stays_ignored(emulator, name):
    emulator.reset(rules=[{"status": 200, "delay_ms": 700, "json": {"id": "job_demo", "status": "active"}}])
    command = ["sh", "-c", f"trap '' {name}; exec {shlex.quote(sys.executable)} -m agentjob get job_demo"]
    process = start(emulator, command=command)
    wait_for(lambda: emulator.requests()["total"] == 1, "the request is there")
    process.send_signal(getattr(signal, "SIG" + name))
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, json.loads(out)["id"], err) == (0, "job_demo", "")


def test_the_first_process_of_a_container_ends_on_a_signal(emulator):
    """The kernel drops a signal for which such a process has no handler."""
    container = ["unshare", "--pid", "--fork", "--kill-child"]
    if shutil.which("unshare") is None or subprocess.run([*container, "true"], capture_output=True).returncode:
        pytest.skip("no process namespace can be made here")
    emulator.reset(rules=[{**STALL, "method": "POST"}], jobs=[{"id": "job_demo"}, {"id": "job_busy", "status": "active"}])
    ends = {
        "send job_demo go": (lambda process: wait_for(lambda: arrived(emulator), "it sends"), MAY_HAVE_ARRIVED),
        "wait job_busy": (lambda process: read_until(process.stderr, "active"), "to keep waiting:\n  agentjob wait --resume "),
        "emulator": (lambda process: process.stdout.readline(), interrupted(signal.SIGTERM)),
    }
    for words, (until, says) in ends.items():
        process = start(emulator, command=[*container, sys.executable, "-m", "agentjob", *words.split()])
        until(process)
        (first,) = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert re.search(r"^NSpid:.*\t1$", pathlib.Path(f"/proc/{first}/status").read_text(), re.M)
        os.kill(int(first), signal.SIGTERM)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 143 and interrupted(signal.SIGTERM) in err and says in err, err


def test_only_the_command_line_handles_signals():
    code = """
        import signal, agentjob, agentjob.aio, agentjob.testing
        with agentjob.testing.Emulator() as emulator, emulator.client() as client:
            client.get_job(emulator.job_id)
        print([signal.getsignal(number) == signal.SIG_DFL for number in (signal.SIGTERM, signal.SIGHUP)])
    """
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.stdout == "[True, True]\n", ran.stderr


def wait_until_it_reads(process):
    """Writes to a command's stdin, and waits until it has read that and wants more."""
    process.stdin.write("x")
    process.stdin.flush()
    wait_for(lambda: fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4)) == bytes(4), "it reads")
