"""How a run of Once.send_all ends before its list does: each message in flight has an outcome in the store, and the next run continues."""

import contextlib
import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import pytest
from conftest import PATIENCE, wait_for
from steps import prompts

import agentjob
from agentjob.once import Once
from agentjob.testing import Emulator

#: So many that a slow machine doesn't send them all before a test ends the run.
COUNT = 150
JOBS = [{"id": f"job {n}"} for n in range(COUNT)]
ITEMS = [(f"job {n}", f"message {n}", f"key {n}") for n in range(COUNT)]
#: Responses take a second.
SLOW = {"method": "POST", "delay_ms": 1000, "status": 200, "json": {"id": "job 0", "status": "active"}, "process": True}
STALL = {"method": "POST", "fault": {"do": "stall", "at": "request", "ms": 4000 * PATIENCE}}


@pytest.fixture
def service():
    with Emulator(jobs=JOBS, hourly_limit=100_000) as emulator:
        yield emulator


def states(once):
    return sorted(step["state"] for step in once.steps())


def in_flight(service, count):
    wait_for(lambda: len(service.requests()["requests"]) >= count, "they are in flight")


def continues(service, database):
    """The next run sends the others, and none twice."""
    service.reset(jobs=JOBS, hourly_limit=100_000)
    before = {step["key"] for step in Once(service.client(), database).steps() if step["state"] != "not_sent"}
    outcomes = list(Once(service.client(), database).send_all(ITEMS))
    assert len(outcomes) == COUNT and {outcome["key"] for outcome in outcomes if outcome["earlier"]} == before
    assert len(prompts(service)) == COUNT - len(before)


def leaves():
    return None


def raises():
    raise KeyError


def interrupts():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(PATIENCE)


@pytest.mark.parametrize("end", [leaves, raises, interrupts])
def test_the_messages_in_flight_get_their_responses(service, database, end):
    """The first outcome is known, and then four messages are in flight."""
    once = Once(service.client(), database)
    once.send_message("key 0", "job 0", "message 0")
    service.reset(jobs=JOBS, rules=[SLOW])
    with contextlib.suppress(KeyError, KeyboardInterrupt):
        for _ in once.send_all(ITEMS, grace=PATIENCE):
            in_flight(service, 4)
            end()
            break
    gc.collect()
    arrived = len(prompts(service))
    assert 4 <= arrived < COUNT - 1 and states(once) == ["accepted"] * (arrived + 1)
    continues(service, database)


def posts(service):
    return [request for request in service.requests()["requests"] if request["method"] == "POST"]


def test_nothing_is_sent_after_the_end_by_a_thread_that_polls_first(service, database):
    """After a service failure."""
    service.reset(jobs=JOBS, rules=[{"method": "POST", "nth": 1, "status": 503}, {**STALL, "method": "GET"}])
    iterator = Once(service.client(max_retries=0), database).send_all(ITEMS, concurrency=1, grace=PATIENCE)
    assert next(iterator)["delivery"] == "unknown"
    in_flight(service, 2)
    iterator.close()
    assert len(posts(service)) == 1


def test_nothing_is_sent_after_the_end_by_a_thread_that_waits_for_the_store(service, tmp_path):
    once = Once(service.client(), tmp_path / "steps.db")
    once.send_message("key 0", "job 0", "message 0")
    iterator = once.send_all(ITEMS, concurrency=1, grace=PATIENCE)
    with contextlib.closing(sqlite3.connect(once.store.path, isolation_level=None, check_same_thread=False, timeout=PATIENCE)) as connection:
        next(iterator)
        connection.execute("BEGIN IMMEDIATE")
        before = len(posts(service))
        end = threading.Thread(target=iterator.close)
        end.start()
        time.sleep(0.5)
        connection.execute("ROLLBACK")
        end.join(PATIENCE)
    # One may have been in flight.
    assert len(posts(service)) - before <= 1 and set(states(once)) == {"accepted"}


def test_a_message_whose_response_does_not_come_within_the_grace_is_unknown(service, database):
    once = Once(service.client(), database)
    once.send_message("key 0", "job 0", "message 0")
    service.reset(jobs=JOBS, rules=[STALL])
    iterator = once.send_all(ITEMS, grace=0.2)
    next(iterator)
    in_flight(service, 4)
    iterator.close()
    assert states(once) == ["accepted"] + ["unknown"] * 4
    assert all("the call was cancelled" in step["error"] for step in once.steps(state="unknown"))
    assert list(iterator) == []
    continues(service, database)


def test_a_token_stops_the_run_and_its_outcomes_come_first(service, database):
    service.reset(jobs=JOBS, rules=[SLOW])
    once, token = Once(service.client(), database), agentjob.CancelToken()
    outcomes = []
    with pytest.raises(agentjob.CancelledError) as caught:
        for outcome in once.send_all(ITEMS, cancel=token, grace=PATIENCE):
            outcomes.append(outcome)
            token.cancel()
            # Also while the loop does something else.
            time.sleep(1.5)
    left = COUNT - len(outcomes)
    assert str(caught.value) == f"the list was cancelled with {left} messages left. Run it again to continue."
    assert 1 <= len(outcomes) < COUNT and states(once) == ["accepted"] * len(outcomes)
    with pytest.raises(agentjob.CancelledError, match=f"cancelled with {COUNT} messages left"):
        list(once.send_all([(job, prompt, "new " + key) for job, prompt, key in ITEMS], cancel=token))
    assert len(prompts(service)) == len(outcomes)
    continues(service, database)


def test_the_grace_also_ends_the_wait_of_a_loop_that_continues(service, database):
    service.reset(jobs=JOBS, rules=[STALL])
    once, token = Once(service.client(), database), agentjob.CancelToken()
    run = once.send_all(ITEMS, cancel=token, grace=0.2)
    end = threading.Thread(target=lambda: in_flight(service, 4) or token.cancel())
    end.start()
    outcomes = []
    with pytest.raises(agentjob.CancelledError):
        outcomes.extend(outcome["delivery"] for outcome in run)
    end.join()
    assert set(outcomes) <= {"unknown"}
    assert states(once) == ["unknown"] * 4 and all("the call was cancelled" in step["error"] for step in once.steps())


def test_a_client_that_is_closed_ends_the_run(service, database):
    service.reset(jobs=JOBS, rules=[SLOW])
    client = service.client()
    iterator = Once(client, database).send_all(ITEMS, concurrency=1)
    next(iterator)
    client.close()
    with pytest.raises(agentjob.ClosedError):
        list(iterator)


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise KeyError", "os.kill(os.getpid(), signal.SIGINT); time.sleep(60)"])
def test_the_end_of_the_program_is_the_end_of_the_run(service, database, end):
    """The iterator is still open: the messages in flight get their responses, and no other is sent."""
    service.reset(jobs=JOBS, rules=[SLOW])
    source = f"""
import agentjob, os, signal, sys, time
from agentjob.once import Once
once = Once(agentjob.Client(trust_env=False), {str(database)!r})
iterator = once.send_all({ITEMS!r}, grace={PATIENCE})
next(iterator)
{end}
"""
    environment = {**os.environ, **service.environment()}
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert done.returncode == {"": 0, "sys.exit(3)": 3, "raise KeyError": 1}.get(end, -signal.SIGINT), done.stderr
    once = Once(service.client(), database)
    arrived = len(prompts(service))
    assert 1 <= arrived < COUNT and states(once) == ["accepted"] * arrived
    continues(service, database)


def test_a_worker_that_is_killed_leaves_what_it_had_in_flight_unknown_and_another_does_the_rest(service, database):
    """Two processes work the list off. Their leases last some seconds."""
    service.reset(jobs=JOBS, rules=[{"method": "POST", "delay_ms": 100}], hourly_limit=100_000)
    source = f"""
import agentjob
from agentjob._once import calls
from agentjob.once import Once
calls.MARGIN = 1.0
once = Once(agentjob.Client(trust_env=False, timeout=5.0), {str(database)!r})
for outcome in once.send_all({ITEMS!r}):
    print(outcome["key"], outcome["delivery"], outcome["earlier"], sep="|")
"""
    environment = {**os.environ, **service.environment()}
    command = [sys.executable, "-c", source]
    killed, other = (subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2))
    try:
        in_flight(service, 10)
        killed.kill()
        out, err = other.communicate(timeout=2 * PATIENCE)
    finally:
        killed.kill()
        other.kill()
        killed.communicate()
    assert err == ""
    deliveries = dict(line.split("|")[:2] for line in out.splitlines())
    assert len(deliveries) == COUNT and set(deliveries.values()) <= {"accepted", "unknown"}
    assert list(deliveries.values()).count("unknown") <= 4, "no more than it had in flight"
    arrived = prompts(service)
    assert len(arrived) == len(set(arrived)) and {f"key {prompt.split()[1]}" for prompt in arrived} >= {key for key in deliveries if deliveries[key] == "accepted"}


@pytest.mark.parametrize("begins", [False, True])
def test_a_forked_child_does_not_work_the_list_off(service, database, begins):
    """Also if the parent has not begun."""
    source = f"""
import agentjob, os, sys
from agentjob.once import Once
iterator = Once(agentjob.Client(trust_env=False), {str(database)!r}).send_all({ITEMS!r}, concurrency=1)
if {begins}:
    next(iterator)
child = os.fork()
if child == 0:
    try:
        next(iterator)
    except RuntimeError as error:
        print(error, flush=True)
    iterator.close()
    sys.exit(0)
os.waitpid(child, 0)
print(len(list(iterator)) - {not begins})
"""
    environment = {**os.environ, **service.environment()}
    # Python warns of threads.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", source]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("this process was forked: its parent iterates over the list\n" + f"{COUNT - 1}\n", "")
    assert len(prompts(service)) == COUNT
