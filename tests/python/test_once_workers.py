"""agentjob.once with several workers, which are killed, stopped, forked and interrupted at each point of a step's protocol:
tests/model/steps.pml."""

import collections
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading

import pytest
from conftest import PATIENCE, unix, wait_for
from steps import POST, Stopping, Wrapped, opened, prompts, raised, settings, state, taken

import agentjob
from agentjob.once import Once, StepOutcome


#: Makes a database slow to close. SQLite has looked for other threads' locks by then, and closing the file takes them away.
SLOW_CLOSE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int close(int file) {
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    if (length > 3 && !memcmp(path + length - 3, ".db", 3)) usleep(3000);
    return ((int (*)(int))dlsym(RTLD_NEXT, "close"))(file);
}
"""


@pytest.fixture(params=["", "closed slowly"])
def databases(request, tmp_path):
    """The environment of processes in which databases are closed so."""
    if not request.param:
        return {}
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None or request.config.getoption("postgresql"):
        pytest.skip("needs SQLite, Linux and a C compiler")
    (tmp_path / "close.c").write_text(SLOW_CLOSE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "close.so", tmp_path / "close.c", "-ldl"], check=True)
    slow = {"LD_PRELOAD": f"{tmp_path / 'close.so'} {os.environ.get('LD_PRELOAD', '')}"}
    closes = f"import os, time; file = os.open({str(tmp_path / 'x.db')!r}, os.O_CREAT); began = time.monotonic(); os.close(file)"
    program = [sys.executable, "-c", f"{closes}; print(time.monotonic() - began)"]
    if float(subprocess.run(program, env={**os.environ, **slow}, stdout=subprocess.PIPE, check=True).stdout) < 0.003:
        pytest.skip("a library that this compiler makes has no effect on this Python")
    return slow


def test_many_workers_with_the_same_keys_send_each_message_once(emulator, database, databases):
    emulator.reset(hourly_limit=100_000)
    source = f"""
import agentjob, sys
from concurrent.futures import ThreadPoolExecutor
from agentjob.once import Once
once = Once(agentjob.Client(trust_env=False), {str(database)!r})
print("ready", flush=True)
sys.stdin.readline()
with ThreadPoolExecutor(4) as pool:
    records = list(pool.map(lambda n: once.send_message(f"key {{n % 60}}", "job_demo", f"message {{n % 60}}"), range(240)))
print({{record["id"] for record in records}})
"""
    environment = {**os.environ, **emulator.environment(), **databases}
    options = {"env": environment, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", source], **options) for _ in range(4)]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    for worker in workers:
        out, err = worker.communicate(timeout=3 * PATIENCE)
        assert (out, err) == ("{'job_demo'}\n", ""), err
    sent = collections.Counter(message["prompt"] for message in emulator.ledger())
    assert sent == {f"message {n}": 1 for n in range(60)}


def test_a_worker_waits_for_the_outcome_of_another(emulator, client, database):
    """The first one's outcome is recorded when the second has found that it is sending."""
    found = threading.Event()

    class Found(Wrapped):
        def get(self, *arguments):
            steps = self.store.get(*arguments)
            found.set()
            return steps

    store = Stopping(database, before={"settle": lambda: found.wait(PATIENCE)})
    sending = threading.Event()
    store.after["take"] = sending.set
    records = []
    first = threading.Thread(target=lambda: records.append(Once(client, store).send_message("k", "job_demo", "p")))
    first.start()
    assert sending.wait(PATIENCE)
    assert Once(client, Found(database)).send_message("k", "job_demo", "p")["id"] == "job_demo"
    first.join()
    assert found.is_set() and prompts(emulator) == ["p"] and len(records) == 1


def test_a_worker_that_waited_for_another_sends_what_that_did_not(emulator, client, database):
    """Also if the step became free between the statement that could not take it and the one that reads it."""

    class Freed(Wrapped):
        def take(self, *arguments):
            step, throttled = self.store.take(*arguments)
            if step.owner == "another" and step.state == "sending":
                step = self.store.settle("k", "another", StepOutcome("rejected"), 10)
            return step, throttled

    taken(opened(database), client)
    assert Once(client, Freed(database)).send_message("k", "job_demo", "p")["status"] == "active"
    assert prompts(emulator) == ["p"]


def test_a_worker_that_waits_for_another_ends_in_time_or_when_it_is_cancelled(emulator, client, database):
    taken(opened(database), client)
    error = raised(Once(client.with_options(timeout=3), database).send_message, "k", "job_demo", "p")
    assert isinstance(error, agentjob.StepInFlightError) and isinstance(error, agentjob.RequestTimeoutError)
    assert (error.kind, error.delivery) == ("step_in_flight", "unknown")
    assert str(error) == (
        'step "k": another worker is sending the message to job job_demo: no outcome came in time (timeout). '
        "Call send_message again with the same key for the outcome: it does not send it twice."
    )
    assert pickle.loads(pickle.dumps(error)).delivery == "unknown"
    token = agentjob.CancelToken()
    threading.Timer(0.5, token.cancel).start()
    error = raised(Once(client, database).send_message, "k", "job_demo", "p", cancel=token)
    assert (error.kind, error.delivery) == ("cancelled", "unknown")
    assert "its message was" not in str(error) and prompts(emulator) == []


#: Ends the process, or stops it, at each point of the protocol; and what a later call finds: the state, and how many messages arrived.
POINTS = [("before", "take", None, 0), ("after", "take", "unknown", 0), ("before", "settle", "unknown", 1), ("after", "settle", "accepted", 1)]
WORKER = """
import os, signal, sys
from agentjob.once import Once
sys.path.insert(0, {tests!r})
from steps import Stopping
class Short(Stopping):
    def take(self, key, job_id, message, taker, patience):
        return super().take(key, job_id, message, taker._replace(lease={lease}), patience)

store = Short({database!r}, {when}={{{point!r}: lambda: os.kill(os.getpid(), signal.{signal})}})
try:
    print(Once(client.with_options(timeout={timeout}), store).send_message("k", "job_demo", "p")["status"])
except agentjob.Error as error:
    print(error.kind, error.delivery)
"""


def worker(script, database, when, point, number, timeout=60.0):
    """Its lease is over soon; with a short timeout of its own, its time, too."""
    values = {"when": when, "point": point, "signal": number, "timeout": timeout, "lease": 0.5 if timeout > 10 else timeout + 0.1}
    return script(WORKER.format(tests=os.path.dirname(__file__), database=str(database), **values))


@unix
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
    # The one that has not sent yet is stopped for longer than its call may take.
    paused = worker(script, database, *(("before", point, "SIGSTOP") if point == "settle" else ("after", point, "SIGSTOP", 5.0)))
    wait_for(lambda: stopped(paused.process), "it stops itself")
    wait_for(lambda: state(once) == "unknown", "its lease is over")
    # Another worker takes over. It does not send.
    assert raised(once.send_message, "k", "job_demo", "p").delivery == "unknown"
    paused.process.send_signal(signal.SIGCONT)
    assert paused.end() == (printed, "", 0)
    assert len(emulator.ledger()) == messages and state(once) == found


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("then", ["nothing", "another worker has it", "another worker sent it"])
def test_a_stopped_worker_gets_an_error_if_a_person_decided_otherwise(emulator, client, once, database, script, then):
    paused = worker(script, database, "before", "settle", "SIGSTOP")
    wait_for(lambda: stopped(paused.process), "it stops itself")
    wait_for(lambda: state(once) == "unknown", "its lease is over")
    once.resolve("k", "not_arrived")  # which is wrong
    if then == "another worker has it":
        taken(opened(database), client)
    elif then == "another worker sent it":
        once.send_message("k", "job_demo", "p")
    before = once.store.get(["k"], None, 10)
    paused.process.send_signal(signal.SIGCONT)
    assert paused.end() == ("store accepted\n", "", 0)
    assert once.store.get(["k"], None, 10) == before, "the row is not its own any more"


@unix
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
    assert (out[0], out[-1]) == ("unknown", 'agentjob: step "k" is unknown and is not sent again: check the job, then resolve the step')
    assert state(once) == "unknown"
    assert "the call was cancelled" in str(raised(once.send_message, "k", "job_demo", "p"))


#: Where Ctrl-C comes; the delivery that it gets; and what the store has.
INTERRUPTS = [
    ("before", "take", "not_sent", None),
    ("after", "take", "not_sent", "not_sent"),
    ("before", "settle", "accepted", "accepted"),
    ("after", "settle", "accepted", "accepted"),
]


def once_only(action):
    """Acts on the first call only."""
    left = [action]
    return lambda: left.pop()() if left else None


def interrupt():
    raise KeyboardInterrupt


@pytest.mark.parametrize(("when", "point", "delivery", "found"), INTERRUPTS)
def test_ctrl_c_between_two_statements_loses_no_outcome(client, database, when, point, delivery, found):
    once = Once(client, Stopping(database, **{when: {point: once_only(interrupt)}}))
    with pytest.raises(KeyboardInterrupt) as caught:
        once.send_message("k", "job_demo", "p")
    assert caught.value.delivery == delivery
    assert [step["state"] for step in once.steps()] == ([found] if found else [])


#: What the service does; the message's delivery; and what the store has.
FAILURES = [({}, "accepted", "accepted"), ({**POST, "status": 422}, "rejected", "rejected"), ({**POST, "status": 503}, "unknown", "unknown"), ({**POST, "status": 429}, "rejected", "rejected")]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("rule", "delivery", "found"), FAILURES)
def test_ctrl_c_while_an_outcome_is_recorded_ends_the_call_when_it_is(emulator, client, database, rule, delivery, found, times):
    """A second one doesn't let it."""
    emulator.reset(rules=[rule] if rule else [])
    left = [interrupt] * times
    once = Once(client.with_options(max_retries=0), Stopping(database, before={"settle": lambda: left and left.pop()()}))
    with pytest.raises(KeyboardInterrupt) as caught:
        once.send_message("k", "job_demo", "p")
    assert caught.value.delivery == delivery and left == []
    assert state(once) == (found if times == 1 else "sending")


@pytest.mark.parametrize(("rule", "delivery", "found"), FAILURES)
def test_a_store_that_fails_for_a_moment_loses_no_outcome(emulator, client, database, rule, delivery, found):
    """Whatever it raises."""
    emulator.reset(rules=[rule] if rule else [])
    left = [OSError("too many open files"), agentjob.StoreError("disk I/O error")]

    def fail():
        if left:
            raise left.pop()

    once = Once(client.with_options(max_retries=0), Stopping(database, before={"settle": fail}))
    if delivery == "accepted":
        assert once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    else:
        error = raised(once.send_message, "k", "job_demo", "p")
        assert error.delivery == delivery and "could not be recorded" not in str(error.__notes__)
    assert state(once) == found


@unix
def test_ctrl_c_at_any_time_loses_no_outcome(emulator, database, script):
    """A signal at a random moment of each of many calls."""
    emulator.reset(hourly_limit=100_000)
    program = script(
        f"""
        import random, signal
        from agentjob.once import Once
        once = Once(client, {str(database)!r})
        once.steps()
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        for n in range(60):
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + random.random() * 0.01)
                once.send_message(f"k{{n}}", "job_demo", f"p{{n}}")
                while True:  # the signal is yet to come
                    time.sleep(0.001)
            except KeyboardInterrupt:
                pass
        print({{step["state"] for step in once.steps()}} <= {{"accepted", "not_sent", "unknown"}})
        """
    )
    out, err, _ = program.end()
    assert (out.splitlines()[-1:], err) == (["True"], ""), (out, err)
    sent = prompts(emulator)
    assert len(sent) == len(set(sent))
    for step in Once(agentjob.Client(**settings(emulator)), database).steps():
        arrived = step["key"].replace("k", "p") in sent
        assert step["state"] == "unknown" or arrived == (step["state"] == "accepted"), step


def foreign(delivery):
    error = ValueError("about another message")
    error.delivery = delivery
    return error


@pytest.mark.parametrize("error", [foreign("not_sent"), foreign("unknown"), foreign("nonsense"), agentjob.Error("x", {"delivery": "rejected"})], ids=str)
def test_an_exception_about_another_message_does_not_change_what_is_known_of_this_one(emulator, once, error):
    def meta(_):
        raise error

    with pytest.raises(type(error)) as caught:
        once.send_message("k", "job_demo", "p", meta=meta)
    assert caught.value is error and any("the message was accepted" in note for note in error.__notes__)
    assert state(once) == "accepted"
    once.send_message("k", "job_demo", "p")
    assert prompts(emulator) == ["p"]
