"""The store of steps in SQLite: what it keeps, what it costs, and what happens if it can't be used."""

import contextlib
import gc
import json
import os
import re
import sqlite3
import stat
import sys
import threading
import time

import pytest
from conftest import PATIENCE, unix, wait_for
from steps import LOST, POST, connected, prompts, raised, state, taken

import agentjob
from agentjob._once import calls
from agentjob._once import sqlite as stores
from agentjob._once import turns
from agentjob._once.store import StoreBusyError
from agentjob.once import Once, SQLiteStore, StepOutcome, Taker


@pytest.fixture
def database(tmp_path):
    return tmp_path / "steps.db"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a clock that counts from the machine's start")
def test_another_program_that_locks_the_database_does_not_hold_a_call_beyond_its_time(emulator, client, database):
    once = Once(client.with_options(timeout=2), database)
    once.send_message("known", "job_demo", "p")
    with connected(database, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        error = raised(once.send_message, "k", "job_demo", "p")
        assert time.monotonic() - began < 20 and (error.kind, error.delivery) == ("store", "not_sent")
        assert "is locked by another program" in str(error) and len(error.__notes__) == 1
        token = agentjob.CancelToken()
        threading.Timer(0.3, token.cancel).start()
        error = raised(Once(client.with_options(timeout=600), database).send_message, "k", "job_demo", "p", cancel=token)
        assert (error.kind, error.delivery) == ("cancelled", "not_sent")
        assert [step["key"] for step in once.steps()] == ["known"], "a reader does not wait for a writer"
        other.execute("ROLLBACK")
        # Also while it waits for another worker, and nothing can be read.
        taken(once.store, client, key="busy")
        other.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        error = raised(once.send_message, "busy", "job_demo", "p")
        assert time.monotonic() - began < 20 and error.kind in ("store", "step_in_flight")
        other.execute("ROLLBACK")
    other.close()
    once.send_message("k", "job_demo", "p")
    assert prompts(emulator) == ["p", "p"]


def begun_by_another_thread():
    """A statement that has its turn."""
    statement = turns.Statement()
    thread = threading.Thread(target=turns.begin, args=(statement, float("inf")))
    thread.start()
    thread.join()
    return statement


def test_a_statement_that_has_no_turn_among_its_processes_threads_changes_nothing(emulator, client, database):
    once, other = Once(client, database), begun_by_another_thread()
    with pytest.raises(StoreBusyError, match="had to wait for other threads"):
        taken(once.store, client, patience=0.2)
    ended = threading.Timer(0.2, turns.end, args=(other,))
    ended.start()
    assert once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    ended.join()
    assert prompts(emulator) == ["p"]


def test_a_statement_ends_when_it_is_collected(once):
    begun_by_another_thread()
    assert once.steps() == []


def test_a_signal_handlers_statement_waits_neither_for_the_one_that_it_interrupts_nor_for_a_fork_that_waits_for_that(once, monkeypatch):
    interrupted, handlers = turns.Statement(), turns.Statement()
    turns.begin(interrupted, float("inf"))
    monkeypatch.setitem(turns._forking, 1, time.monotonic())
    try:
        turns.begin(handlers, 0)
        turns.end(handlers)
        assert once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    finally:
        turns.end(interrupted)
    monkeypatch.undo()


def open_files(path):
    found = []
    for file in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # it was closed meanwhile
            found.append(os.readlink(os.path.join("/proc/self/fd", file)))
    return [file for file in found if file == str(path)]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_leaves_no_connection_open_and_no_statement_that_others_wait_for(once, database, monkeypatch):
    """While its exception is kept: a connection that is closed later would take away another thread's lock. It comes at each place of
    the code of turns.py and sqlite.py at which Python looks for signals: where a function begins, and after each one of C."""
    once.steps()
    kept, names = [], set()

    def interrupt_at(n):
        """Raises KeyboardInterrupt at the nth such place of a statement."""
        left = [n]

        def look(frame, event, _):
            if frame.f_code.co_filename in (stores.__file__, turns.__file__) and event in ("call", "c_return"):
                left[0] -= 1
                if not left[0]:
                    names.add(frame.f_code.co_name)
                    raise KeyboardInterrupt

        return look

    gc.disable()
    try:
        for n in range(1, 1000):
            sys.setprofile(interrupt_at(n))
            try:
                once.store.get(None, None, 10)
                break
            except KeyboardInterrupt as error:
                kept.append(error)
            finally:
                sys.setprofile(None)
            assert (turns._statements, open_files(database)) == ({}, []), f"after place {n}"
        else:
            pytest.fail("no statement was executed to its end")
    finally:
        gc.enable()
    assert {"begin", "end", "_open", "_once", "_create"} <= names
    assert "__del__" not in names, "Python drops an exception from there"
    assert once.steps() == []


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python knows SQLite's names of errors since 3.11")
def test_an_error_has_sqlites_own_name(client, tmp_path):
    path = tmp_path / "steps.db"
    path.write_text("This is a list of jobs, and no database. " * 100)
    assert str(raised(Once(client, path).steps)).endswith("cannot be used: file is not a database (SQLITE_NOTADB)")


@pytest.mark.parametrize("damage", ["no folder", "no database", "a later version", "another table", "an impossible name"])
def test_a_store_that_cannot_be_used_sends_nothing(emulator, client, tmp_path, damage):
    path = tmp_path / "steps.db"
    if damage == "no folder":
        path = tmp_path / "missing" / "steps.db"
    elif damage == "no database":
        path.write_text("This is a list of jobs, and no database. " * 100)
    else:
        with connected(path) as connection:
            connection.execute("CREATE TABLE agentjob_steps (key TEXT)" if damage == "another table" else "CREATE TABLE agentjob_steps ( -- version 99\nkey TEXT)")
    if damage == "an impossible name":
        path = os.path.join(tmp_path, "a\0b")
    once = Once(client, path)
    for call in (lambda: once.send_message("k", "job_demo", "p"), lambda: once.wait("k"), lambda: once.resolve("k", "arrived"), once.steps):
        error = raised(call)
        assert isinstance(error, agentjob.StoreError) and repr(str(path)) in str(error), error
        assert not any("becomes unknown" in note for note in getattr(error, "__notes__", ()))
    assert raised(once.send_message, "k", "job_demo", "p").delivery == "not_sent"
    assert prompts(emulator) == []


class Failing(SQLiteStore):
    """Takes steps for a moment, and then can't be reached."""

    def take(self, key, job_id, message, taker, patience):
        return super().take(key, job_id, message, taker._replace(lease=0.5), patience)

    def settle(self, *arguments):
        raise agentjob.StoreError("the store is gone")


def test_an_outcome_that_cannot_be_recorded_is_reported_and_unknown_later(emulator, client, database, monkeypatch):
    monkeypatch.setattr(calls, "SETTLES", 0.5)
    once = Once(client, Failing(database))
    error = raised(once.send_message, "k", "job_demo", "p")
    assert isinstance(error, agentjob.StoreError) and error.delivery == "accepted" and error.job["id"] == "job_demo"
    emulator.reset(rules=[{**POST, "status": 422}])
    error = raised(once.send_message, "rejected", "job_demo", "p")
    assert error.delivery == "rejected"
    assert "could not be recorded, so step \"rejected\" becomes unknown: the store is gone" in error.__notes__[-1]
    wait_for(lambda: {step["state"] for step in once.steps()} == {"unknown"}, "both leases are over")


@pytest.mark.parametrize(("rule", "expected"), [({}, "accepted"), ({**POST, "status": 422}, "rejected"), (LOST, "unknown")], ids=["accepted", "rejected", "unknown"])
def test_an_outcome_is_recorded_also_if_that_takes_long(emulator, client, database, rule, expected):
    """Another program has locked the database, for longer than half of the time for which that is tried."""
    emulator.reset(rules=[rule] if rule else [])
    released = threading.Event()

    class Locked(SQLiteStore):
        def settle(self, *arguments):
            connection = sqlite3.connect(database, isolation_level=None, check_same_thread=False)
            connection.execute("BEGIN IMMEDIATE")

            def release():
                connection.close()
                released.set()

            threading.Timer(calls.SETTLES * 0.6, release).start()
            return super().settle(*arguments)

    once = Once(client, Locked(database))
    if expected == "accepted":
        once.send_message("k", "job_demo", "p")
    else:
        assert "could not be recorded" not in str(getattr(raised(once.send_message, "k", "job_demo", "p"), "__notes__", ""))
    assert released.wait(PATIENCE) and state(once) == expected


@unix
def test_the_store_has_no_prompt_no_key_and_no_text_of_the_service(emulator, client, database):
    says = {"message": "unfortunate words", "headers": {"x-request-id": "req-7"}}
    emulator.reset(rules=[{**POST, "status": 422, "body": json.dumps(says), "headers": {"x-request-id": "req-7"}}])
    once = Once(client, database)
    raised(once.send_message, "k", "job_demo", "a secret plan")
    once.send_message("l", "job_demo", "another secret plan")
    text = b"".join(path.read_bytes() for path in database.parent.iterdir())
    assert b"req-7" in text
    for absent in (b"secret plan", b"unfortunate", emulator.environment()["AGENTJOB_API_KEY"].encode(), b"acme/widgets\""):
        assert absent not in text
    assert stat.S_IMODE(database.stat().st_mode) == 0o600


class Counting(SQLiteStore):
    """Notes the statements about steps."""

    def __init__(self, path):
        super().__init__(path)
        self.statements = []

    def _run(self, work, patience):
        def traced(connection):
            connection.set_trace_callback(self.statements.append)
            return work(connection)

        return super()._run(traced, patience)


@pytest.mark.parametrize("rate", [None, "100000/h"])
def test_a_message_costs_two_statements_and_100_000_known_keys_one(client, database, rate):
    once = Once(client, Counting(database), rate=rate)
    once.send_message("k", "job_demo", "p")
    assert len(once.store.statements) == 2, once.store.statements
    rows = ((f"known {n:06}", "job_demo", "m", "accepted") for n in range(100_000))
    with connected(database) as connection:
        connection.executemany("INSERT INTO agentjob_steps (key, job_id, message, state) VALUES (?, ?, ?, ?)", rows)
    once.store.statements.clear()
    steps = once.steps(f"known {n:06}" for n in range(100_000))
    assert (len(steps), len(once.store.statements)) == (100_000, 1)
    once.store.statements.clear()
    raised(once.send_message, "known 000001", "job_demo", "p")
    assert len(once.store.statements) == 2


def test_a_store_of_an_earlier_version_keeps_its_steps(emulator, client, database):
    with connected(database) as connection:
        for statement in stores.VERSIONS[0]:
            connection.execute(statement)
        digest = agentjob._native.step_message(client, "k", "job_demo", "p")
        row = "INSERT INTO agentjob_steps (key, job_id, message, state, sends, owner) VALUES (?, 'job_demo', ?, ?, 1, 'another')"
        connection.executemany(row, [("k", digest, "rejected"), ("l", "m", "unknown"), ("m", "m", "accepted")])
    opened = [threading.Thread(target=Once(client, database).steps) for _ in range(8)]
    for thread in opened:
        thread.start()
    for thread in opened:
        thread.join(60)
    once = Once(client, database, rate="1/h")
    assert [step["state"] for step in once.steps()] == ["rejected", "unknown", "accepted"]
    once.send_message("k", "job_demo", "p")
    assert raised(once.send_message, "new", "job_demo", "p").kind == "rate_limit"
    assert prompts(emulator) == ["p"] and [step["sends"] for step in once.steps()] == [2, 1, 1]
    with connected(database) as connection:
        (text,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'agentjob_steps'").fetchone()
    assert re.findall(r"version (\d+)", text) == ["1", "2"] == [str(n + 1) for n in range(stores.VERSION)]


@pytest.mark.parametrize("column", ["record", "result", "poller", "failure"])
def test_a_row_that_was_changed_by_hand_is_named(emulator, once, database, column):
    once.send_message("k", "job_demo", "p")
    with connected(database) as connection:
        connection.execute(f"UPDATE agentjob_steps SET {column} = '{{'")
    calls = {"record": once.steps, "result": once.steps, "poller": lambda: once.wait("k"), "failure": once.steps}
    if column == "failure":
        assert once.steps()[0]["state"] == "accepted"
    else:
        assert "was changed" in str(raised(calls[column]))
    if column == "record":
        error = raised(once.send_message, "k", "job_demo", "p")
        assert (error.kind, error.delivery) == ("store", "accepted") and 'the row of step "k" in the store was changed' in str(error)
    assert prompts(emulator) == ["p"]


def test_a_database_of_the_users_keeps_its_other_tables_and_its_journal_mode(emulator, client, database):
    with connected(database) as connection:
        connection.execute("CREATE TABLE mine (a)")
        connection.execute("INSERT INTO mine VALUES (7)")
    Once(client, database).send_message("k", "job_demo", "p")
    with connected(database) as connection:
        assert connection.execute("SELECT a FROM mine").fetchall() == [(7,)]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


@pytest.mark.parametrize("seconds", [9.5, 999.5, 9_999.5, 99_999.5, 1e6 - 0.5])
def test_a_lease_ends_when_its_seconds_are_over_also_if_their_number_gets_a_digit_more(once, client, monkeypatch, seconds):
    later = 0
    monkeypatch.setattr(agentjob._native, "machine_time", lambda: ("a start", seconds + later))
    assert taken(once.store, client, lease=60)[0].state == state(once) == "sending"
    assert once.store.take("k", "job_demo", "m", Taker("second", 60, "s", None, None), 1.0)[0].state == "sending"
    later = 61
    assert state(once) == "unknown"
    assert once.store.settle("k", "another", StepOutcome("accepted"), 1.0).state == "accepted"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a clock that counts from the machine's start")
def test_a_lease_is_not_ended_by_a_clock_that_is_set(once, client, monkeypatch):
    """The clock of the machine counts from its start, with its sleep. After another start no worker is left."""
    store = once.store
    boot, now = agentjob._native.machine_time()
    taken(store, client, lease=60)
    later = time.time() + 1e6
    monkeypatch.setattr(time, "time", lambda: later)
    assert state(once) == "sending"
    for later in ((boot, now + 61), ("another start", now)):
        monkeypatch.setattr(agentjob._native, "machine_time", lambda later=later: later)
        assert state(once) == "unknown"
