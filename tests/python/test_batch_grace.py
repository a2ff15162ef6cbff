"""A batch that ends early gets the responses that are in flight, for its grace, or leaves the messages unknown: the rows of the table in
docs/reference/batches.md, in blocking Python."""

import contextlib
import gc
import os
import signal
import threading

import pytest
from conftest import PATIENCE, tried, wait_for
from grace import (
    GRACE,
    IN_FLIGHT,
    ITEMS,
    LATE,
    SILENT,
    SLOW,
    Timer,
    all_but_the_first,
    arrived,
    in_flight,
    interrupt_until_gone,
    is_all_accepted,
    is_all_unknown,
    is_dropped,
    prepare,
    sent,
)

import agentjob


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "journal"


@pytest.fixture
def begin(emulator, journal):
    """Begins a batch; only its first message gets a response soon."""

    def begin(client, rules=SLOW, **options):
        prepare(emulator, rules)
        return client.send_all(ITEMS, journal=journal, concurrency=IN_FLIGHT, **{"grace": GRACE, **options})

    return begin


class Enough(Exception):
    pass


def test_break_in_a_with_client_waits_for_the_responses_in_flight(emulator, begin, journal):
    with emulator.client() as client:
        for outcome in begin(client):
            assert outcome["delivery"] == "accepted"
            arrived(emulator)
            break
    is_all_accepted(emulator, journal)


def test_an_exception_in_a_with_client_awaits_them(emulator, begin, journal):
    with pytest.raises(Enough), emulator.client() as client:
        for _ in begin(client):
            arrived(emulator)
            raise Enough
    is_all_accepted(emulator, journal)


def test_an_exception_in_a_with_client_awaits_them_though_the_batch_has_a_name(emulator, begin, journal):
    with pytest.raises(Enough), emulator.client() as client:
        batch = begin(client)
        for _ in batch:
            arrived(emulator)
            raise Enough
    is_all_accepted(emulator, journal)
    rest = []
    with pytest.raises(agentjob.ClosedError):
        rest.extend(batch)
    assert batch.finished


def test_break_in_a_with_batch_awaits_them_and_the_journal_is_free(emulator, begin, journal):
    client = emulator.client()
    with begin(client) as batch:
        for _ in batch:
            arrived(emulator)
            break
    is_all_accepted(emulator, journal)
    assert batch.finished and not agentjob.batch_status(journal)["running"]


def test_close_of_a_batch_awaits_them(emulator, begin, journal):
    batch = begin(emulator.client())
    arrived(emulator)
    batch.close()
    is_all_accepted(emulator, journal)


def test_close_of_a_client_awaits_them_and_the_iterator_has_their_outcomes(emulator, begin, journal):
    client = emulator.client()
    batch = begin(client)
    next(batch)
    arrived(emulator)
    client.close()
    assert not agentjob.batch_status(journal)["running"], "another run may use it, although this batch has a name"
    is_all_accepted(emulator, journal)
    rest = []
    with pytest.raises(agentjob.ClosedError):
        for outcome in batch:
            rest.append(outcome["delivery"])
    assert rest == all_but_the_first(emulator)


def by_another_thread(client):
    thread = threading.Thread(target=client.close)
    thread.start()
    thread.join(PATIENCE)


@pytest.mark.parametrize("close", [by_another_thread, agentjob.Client.close])
def test_close_of_a_client_within_a_step_awaits_them(emulator, begin, journal, close):
    client, accepted = emulator.client(), []

    def on_update(update):
        if update["event"] == "accepted" and not accepted:
            arrived(emulator)
            close(client)
            accepted.append(agentjob.batch_status(journal)["progress"]["accepted"])

    with pytest.raises(agentjob.ClosedError):
        list(begin(client, wait=True, min_interval=PATIENCE, max_interval=PATIENCE, on_update=on_update))
    assert accepted == [sent(emulator)] and in_flight(emulator), "close came back after the responses"
    is_all_accepted(emulator, journal)


def test_stop_awaits_them_and_the_iterator_has_their_outcomes(emulator, begin, journal):
    batch = begin(emulator.client())
    next(batch)
    arrived(emulator)
    batch.stop()
    assert [outcome["delivery"] for outcome in batch] == all_but_the_first(emulator)
    is_all_accepted(emulator, journal)


def test_a_cancelled_token_awaits_them_and_comes_last(emulator, begin, journal):
    token, rest = agentjob.CancelToken(), []
    batch = begin(emulator.client(), cancel=token)
    next(batch)
    arrived(emulator)
    token.cancel()
    with pytest.raises(agentjob.CancelledError):
        for outcome in batch:
            rest.append(outcome["delivery"])
    assert rest == all_but_the_first(emulator)
    is_all_accepted(emulator, journal)


def next_run_reports(delivery, emulator, journal):
    """Of all but the first message."""
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "the journal is free")
    before = sent(emulator)
    with emulator.client().send_all(ITEMS, journal=journal, rate="1/d") as again:
        earlier = [next(again) for _ in range(before)]
    assert sorted(outcome["delivery"] for outcome in earlier) == ["accepted"] + [delivery] * (before - 1)
    assert all(outcome["earlier"] for outcome in earlier) and before >= 1 + IN_FLIGHT


#: The first three rows of the table; the fourth is the program's end, below.
ENDS = {
    "its loop's end": (lambda batch: [batch.stop(), *batch], SLOW, "accepted"),
    "close": (lambda batch: batch.close(), SLOW, "accepted"),
    "dropped": (lambda batch: None, SILENT, "unknown"),
}


@pytest.mark.parametrize(("end", "rules", "reported"), ENDS.values(), ids=ENDS)
def test_what_the_next_run_reports(emulator, begin, journal, end, rules, reported):
    batch = begin(emulator.client(), rules)
    next(batch)
    arrived(emulator)
    end(batch)
    del batch
    next_run_reports(reported, emulator, journal)


def test_an_exception_that_leaves_a_bare_loop_leaves_them_unknown_to_the_next_run(emulator, begin, journal):
    client, enough = emulator.client(), Enough()
    with pytest.raises(Enough) as caught, Timer() as timer:
        for _ in begin(client, SILENT):
            arrived(emulator)
            raise enough
    assert caught.value is enough and timer.took < GRACE / 2
    is_dropped(emulator, journal)
    next_run_reports("unknown", emulator, journal)


def test_an_exception_that_drops_the_batch_survives(emulator, begin, journal):
    with pytest.raises(ZeroDivisionError):
        [begin(emulator.client(), SILENT), arrived(emulator), 1 / 0]
    is_dropped(emulator, journal)


def test_a_batch_that_the_garbage_collector_finds_leaves_them_unknown_to_the_next_run(emulator, begin, journal):
    client = emulator.client()
    cycle = [begin(client, SILENT)]
    cycle.append(cycle)
    arrived(emulator)
    del cycle
    gc.collect()
    is_dropped(emulator, journal)
    next_run_reports("unknown", emulator, journal)


@pytest.mark.parametrize("end", ["del", "close", "close of the client", "the loop", "Ctrl-C in close"])
def test_a_function_for_the_key_that_waits_for_the_thread_that_ends_the_batch(emulator, journal, end):
    lock, called = threading.Lock(), threading.Event()

    def key():
        called.set()
        with lock:
            return emulator.api_key

    prepare(emulator, [])
    client = emulator.client(api_key=key)
    with lock, Timer() as timer:
        batch = client.send_all(ITEMS, journal=journal, grace=GRACE if end == "Ctrl-C in close" else 0.1)
        assert called.wait(PATIENCE)
        if end == "del":
            del batch
        elif end == "close":
            batch.close()
        elif end == "close of the client":
            client.close()
        elif end == "the loop":
            batch.stop()
            assert list(batch) == []
        else:
            with pytest.raises(Enough), interrupted_when(lambda: batch.finished):
                batch.close()
    assert timer.took < GRACE / 2
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "the key's threads have unlocked it")
    assert emulator.ledger() == []


def test_a_function_for_the_key_that_closes_its_own_client(emulator, journal):
    held, begun = [], threading.Event()

    def key():
        begun.wait(PATIENCE)
        held[0].close()
        return emulator.api_key

    prepare(emulator, [])
    held.append(emulator.client(api_key=key))
    batch = held[0].send_all(ITEMS, journal=journal, grace=0.1)
    begun.set()
    with pytest.raises(agentjob.ClosedError):
        list(batch)
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "its threads have unlocked the journal")
    assert emulator.ledger() == []


def test_a_function_for_the_key_that_drops_its_own_batch(emulator, journal):
    held, begun, dropped = [], threading.Event(), threading.Event()

    def key():
        begun.wait(PATIENCE)
        if held:
            held.clear()
            dropped.set()
        return emulator.api_key

    prepare(emulator, [])
    client = emulator.client(api_key=key)
    held.append(client.send_all(ITEMS, journal=journal, concurrency=1))
    begun.set()
    assert dropped.wait(PATIENCE)
    wait_for(lambda: not agentjob.batch_status(journal)["running"], "its thread has unlocked the journal")


@contextlib.contextmanager
def interrupted_when(is_closing):
    """A signal, as Ctrl-C is one, whose handler raises."""

    def handle(*_):
        raise Enough

    before = signal.signal(signal.SIGUSR1, handle)

    def interrupt():
        wait_for(is_closing, "the main thread closes it")
        os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("close", ["batch", "client"])
def test_an_exception_of_a_signal_handler_in_close_ends_the_grace(emulator, begin, journal, close):
    client = emulator.client()
    batch = begin(client, SILENT)
    next(batch)
    arrived(emulator)
    closing = {"batch": (batch, lambda: batch.finished), "client": (client, lambda: client.closed)}
    with Timer() as timer, pytest.raises(Enough), interrupted_when(closing[close][1]):
        closing[close][0].close()
    assert timer.took < GRACE / 2
    del batch, closing
    is_dropped(emulator, journal)


def test_closing_a_batch_that_another_thread_iterates_is_refused_and_stops_it(emulator, journal):
    batch = emulator.client().send_all(ITEMS, journal=journal, rate="1/h")

    def iterate():
        while not batch.finished:
            with contextlib.suppress(RuntimeError):  # the main thread looks whether it iterates
                list(batch)

    thread = threading.Thread(target=iterate, daemon=True)
    thread.start()

    def is_refused():
        try:
            batch.next_event(timeout=0)
        except RuntimeError:
            return True

    wait_for(is_refused, "the thread iterates")
    with pytest.raises(RuntimeError, match="^this batch is already in use$"):
        batch.close()
    thread.join(PATIENCE)
    assert not thread.is_alive() and batch.finished


#: How a program begins that is interrupted: Ctrl-C works there, however the tests were started.
PROGRAM = """
import os
import signal
from grace import *
signal.signal(signal.SIGINT, signal.default_int_handler)
options = {"journal": %r, "concurrency": IN_FLIGHT, "grace": %r}
"""


@pytest.fixture
def program(emulator, script, journal, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", __file__.rpartition("/")[0])

    def start(source, rules=SLOW, grace=GRACE):
        prepare(emulator, rules)
        running = script(PROGRAM % (str(journal), grace) + source)
        arrived(emulator)
        return running

    return start


LOOPS = {
    "with Client()": """
with client:
    for outcome in client.send_all(ITEMS, **options):
        if outcome["item"] == 1:
            print("ready", flush=True)
""",
    "with batch": """
with client.send_all(ITEMS, **options) as batch:
    for outcome in batch:
        if outcome["item"] == 1:
            print("ready", flush=True)
""",
    "close in finally": """
batch = client.send_all(ITEMS, **options)
try:
    for outcome in batch:
        if outcome["item"] == 1:
            print("ready", flush=True)
finally:
    client.close()
""",
}
BARE_LOOP = """
for outcome in client.send_all(ITEMS, **options):
    if outcome["item"] == 1:
        print("ready", flush=True)
"""


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_ctrl_c_awaits_them_before_the_program_is_gone(emulator, program, journal, loop):
    running = program(loop)
    running.wait_until_ready()
    running.interrupt()
    out, err, _ = running.end()
    assert out == "" and err.rstrip().endswith("KeyboardInterrupt"), err
    is_all_accepted(emulator, journal)


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_second_ctrl_c_ends_the_grace_at_once(emulator, program, journal, loop):
    running = program(loop, SILENT)
    running.wait_until_ready()
    with Timer() as timer:
        interrupt_until_gone(running)
    assert timer.took < GRACE / 2
    is_all_unknown(emulator, journal)


def test_ctrl_c_out_of_a_bare_loop_leaves_them_unknown(emulator, program, journal):
    running = program(BARE_LOOP, SILENT)
    running.wait_until_ready()
    with Timer() as timer:
        running.interrupt()
        out, err, _ = running.end()
    assert out == "" and err.rstrip().endswith("KeyboardInterrupt"), err
    assert timer.took < GRACE / 2
    # Whether the end wrote that down, or the next run finds it.
    next_run_reports("unknown", emulator, journal)


@pytest.mark.parametrize("last", ["", "del batch\n", "del client\n"], ids=["held", "let go of", "held without its client"])
def test_the_programs_end_does_not_wait_for_them(emulator, program, journal, last):
    goes = journal.with_name("goes")
    running = program(
        f"""
batch = client.send_all(ITEMS, **options)
while not os.path.exists({str(goes)!r}):
    time.sleep(0.01)
{last}""",
        SILENT,
    )
    goes.touch()
    with Timer() as timer:
        assert running.end() == ("", "", 0)
    assert timer.took < GRACE / 2
    # Whether the end wrote that down, or the next run finds it.
    next_run_reports("unknown", emulator, journal)


def close_client(client, batch):
    client.close()


def close_batch(client, batch):
    batch.close()


def stop_and_iterate(client, batch):
    batch.stop()
    assert [outcome["delivery"] for outcome in batch] == ["unknown"] * IN_FLIGHT


@pytest.mark.parametrize("grace", [0, 0.3])
@pytest.mark.parametrize("end", [close_client, close_batch, stop_and_iterate])
def test_a_service_that_never_responds_is_given_up_after_the_grace(emulator, begin, journal, end, grace):
    def attempt(_):
        journal.unlink(missing_ok=True)
        client = emulator.client()
        batch = begin(client, SILENT, grace=grace)
        next(batch)
        arrived(emulator)
        with Timer() as timer:
            end(client, batch)
        del batch
        wait_for(lambda: not agentjob.batch_status(journal)["running"], "it is gone")
        is_all_unknown(emulator, journal)
        assert grace <= timer.took < grace + 2

    tried(3, attempt)


def test_a_forked_child_that_closes_the_client_leaves_its_parents_batch_alone(emulator, begin, journal):
    def attempt(_):
        journal.unlink(missing_ok=True)
        with emulator.client() as client:
            for _ in begin(client, LATE):
                arrived(emulator)
                child = os.fork()
                if child == 0:
                    client.close()
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
                accepted = agentjob.batch_status(journal)["progress"]["accepted"]
                break
        is_all_accepted(emulator, journal)
        assert accepted == 1, "the child waits for nothing"

    tried(3, attempt)


def test_a_client_without_a_batch_closes_at_once_and_ends_its_calls(emulator):
    emulator.reset(rules=SILENT[1:])
    client, ended = emulator.client(), []

    def call():
        try:
            client.send_message("job_demo", "alone")
        except agentjob.ClosedError as error:
            ended.append(error.delivery)

    thread = threading.Thread(target=call)
    thread.start()
    wait_for(lambda: any(request["complete"] for request in emulator.requests()["requests"]), "it is at the service")
    with Timer() as timer:
        client.close()
        thread.join(PATIENCE)
    assert ended == ["unknown"] and timer.took < GRACE / 2
    assert not in_flight(emulator)
