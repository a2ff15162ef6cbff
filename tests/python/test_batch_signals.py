"""Ctrl-C in a batch, and the program's end while one runs."""

import time

import agentjob
from conftest import arrived, tried, wait_for
from test_signals import LATENCY

STALL = {"method": "POST", "fault": {"do": "stall", "at": "request"}}
SLOW = {"method": "POST", "status": 200, "delay_ms": 2000}

#: What each script begins with.
ITEMS = """
items = [("job_demo" if n % 2 else "job_busy", f"prompt {n}") for n in range(20)]
"""


def interrupted(emulator, script, journal, source, requests):
    """Interrupts the script once it has made so many requests. Returns when that was, and its end."""
    before = arrived(emulator)
    running = script(ITEMS + f"journal = {str(journal)!r}\n" + "print('ready', flush=True)\n" + source)
    running.wait_until_ready()
    wait_for(lambda: arrived(emulator) >= before + requests, "the batch sends")
    time.sleep(0.1)
    at = time.monotonic()
    running.interrupt()
    out, err, status = running.end()
    assert status == 0, err
    return at, out.splitlines(), time.monotonic()


def test_ctrl_c_in_the_loop_returns_at_once_and_messages_in_flight_get_their_response_where_the_client_is_closed(emulator, script, tmp_path):
    def attempt(n):
        emulator.reset(rules=[SLOW], hourly_limit=1000, jobs=[{"id": "job_demo"}, {"id": "job_busy"}])
        journal = tmp_path / f"journal {n}"
        source = """
batch = client.send_all(items, journal=journal, concurrency=2)
try:
    for outcome in batch:
        pass
except KeyboardInterrupt as interrupt:
    print(time.monotonic(), *getattr(interrupt, "__notes__", ()))
client.close()
"""
        at, (left,), _ = interrupted(emulator, script, journal, source, 2)
        status = agentjob.batch_status(journal)
        assert status["unknown"] == [] and status["progress"]["accepted"] == 2 and status["progress"]["left"] == 18
        assert emulator.requests()["total"] == 2, "nothing more was sent"
        assert float(left) - at < LATENCY

    tried(5, attempt)


def test_ctrl_c_stops_the_batch_and_the_remaining_outcomes_can_be_read(emulator, script, tmp_path):
    source = """
batch = client.send_all(items, journal=journal, concurrency=2)
try:
    list(batch)
except KeyboardInterrupt:
    print(batch.finished)
print([outcome["item"] for outcome in batch], batch.finished)
"""

    def attempt(n):
        emulator.reset(rules=[SLOW], hourly_limit=1000, jobs=[{"id": "job_demo"}, {"id": "job_busy"}])
        _, out, _ = interrupted(emulator, script, tmp_path / f"journal {n}", source, 2)
        assert out in (["False", "[1, 2] True"], ["False", "[2, 1] True"])

    tried(5, attempt)


def test_ctrl_c_in_a_with_statement_waits_for_grace_and_a_second_one_does_not(emulator, script, tmp_path):
    source = """
import signal
signal.signal(signal.SIGALRM, signal.default_int_handler)
begun = None
try:
    with client.send_all(items, journal=journal, concurrency=2, grace=4) as batch:
        try:
            list(batch)
        except KeyboardInterrupt:
            begun = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)  # as a user does who does not want to wait
            raise
except KeyboardInterrupt:
    print(time.monotonic() - begun < 3, batch.finished)
"""

    def attempt(n):
        emulator.reset(rules=[STALL], hourly_limit=1000, jobs=[{"id": "job_demo"}, {"id": "job_busy"}])
        journal = tmp_path / f"journal {n}"
        at, out, ended = interrupted(emulator, script, journal, source, 2)
        unknown = agentjob.batch_status(journal)["unknown"]
        assert len(unknown) == 2 and all(item["reason"] for item in unknown), "the program's end waited for grace"
        assert out == ["True True"] and ended - at < 30

    tried(3, attempt)


def test_ctrl_c_while_the_items_are_read(emulator, script, tmp_path):
    source = """
import itertools
client.get_job("job_demo")
try:
    client.send_all(itertools.repeat(("job_demo", "go")), journal=journal)
except KeyboardInterrupt:
    print("left")
"""
    assert interrupted(emulator, script, tmp_path / "journal", source, 1)[1] == ["left"]
    assert emulator.ledger() == [] and not (tmp_path / "journal").exists()


def test_a_program_that_exits_with_a_running_batch(emulator, script, tmp_path):
    held = {
        "a global": "batch = client.send_all(items, journal=journal, concurrency=2, grace=600)",
        "no reference": "client.send_all(items, journal=journal, concurrency=2, grace=600)",
        "a thread": """
import threading
threading.Thread(target=lambda: list(client.send_all(items, journal=journal, concurrency=2, grace=600)), daemon=True).start()
""",
        "a cycle": "cycle = [client.send_all(items, journal=journal, concurrency=2, grace=600)]; cycle.append(cycle); del cycle",
    }
    for name, begin in held.items():
        emulator.reset(rules=[STALL], hourly_limit=1000, jobs=[{"id": "job_demo"}, {"id": "job_busy"}])
        journal = tmp_path / name
        ends = "sys.stdin.readline()\nprint('ready', flush=True)\n"
        running = script(ITEMS + f"journal = {str(journal)!r}\n" + begin + "\n" + ends)
        # A batch without references is stopped, perhaps before it sent anything.
        wait_for(lambda: arrived(emulator) == 2 or name == "no reference", "two are in flight")
        running.go_on()
        assert running.end() == ("ready\n", "", 0), name
        unknown = agentjob.batch_status(journal)["unknown"]
        assert arrived(emulator) <= len(unknown) <= 2, f"the service has nothing that the journal lacks ({name})"
