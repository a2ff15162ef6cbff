"""How fast the workers of a store send: their rate, and the pause that a 429 makes for all of them. First statement by statement, for each
kind of store; then the calls of agentjob.once."""

import asyncio
import os
import pickle
import subprocess
import sys
import threading
import time

import pytest
from conftest import PATIENCE, wait_for
from steps import LOST, POST, Wrapped, connected, opened, prompts, raised, settings, state, taken

import agentjob
from agentjob.once import AsyncOnce, Once, SQLiteStore, StepOutcome, Taker

HOUR = 3600.0


def take(store, key, messages=2, scope="scope", lease=600.0):
    return store.take(key, "job", "m", Taker(f"owner of {key}", lease, scope, messages, HOUR if messages else None), PATIENCE)


def settle(store, key, state, pause=None):
    return store.settle(key, f"owner of {key}", StepOutcome(state, None if state == "accepted" else "why", pause=pause), PATIENCE)


def sent(*keys, state="accepted", **options):
    """Messages that ended so, by workers without a rate. None: they are being sent."""

    def made(store):
        for key in keys:
            assert take(store, key, None, **options)[1] is None
            if state is not None:
                assert settle(store, key, state).state == state

    return made


def in_turn(*made):
    return lambda store: [one(store) for one in made]


def stale(key):
    def made(store):
        sent(key, state=None, lease=0.05)(store)
        wait_for(lambda: store.get([key], "unknown", PATIENCE), "its lease is over")

    return made


def not_sent_twice(store):
    """The outcome's statement was executed again, because its response was lost."""
    sent("a", state="rejected")(store)
    sent("a", state="not_sent")(store)
    settle(store, "a", "not_sent")


#: What was sent before, and whether a worker whose rate is 2/h may send then: None, or for how many seconds not.
RATES = [
    (sent("a"), None),
    (sent("a", "b"), HOUR),
    (sent("a", "b", state="rejected"), HOUR),
    (sent("a", "b", state="unknown"), HOUR),
    (sent("a", "b", state="not_sent"), None),
    (in_turn(sent("a"), sent("b", state="not_sent")), None),
    # One that is being sent may end now, and counts for the time after that.
    (sent("a", "b", state=None), HOUR),
    (in_turn(sent("a"), sent("b", state=None)), HOUR),
    (in_turn(stale("a"), stale("b")), HOUR),
    (sent("a", "b", scope="another project's"), None),
    # One step may have several messages.
    (in_turn(sent("a", state="rejected"), sent("a", state="rejected")), HOUR),
    (in_turn(sent("a", state="rejected"), sent("a", state=None)), HOUR),
    (in_turn(sent("a", state="rejected"), sent("a", state="not_sent")), None),
    (in_turn(sent("a", state="rejected"), sent("a", state="not_sent"), sent("b")), HOUR),
    (not_sent_twice, None),
    (in_turn(not_sent_twice, sent("b")), HOUR),
    (in_turn(*[sent("a", state="not_sent")] * 5), None),
]


@pytest.mark.parametrize(("made", "seconds"), RATES)
def test_what_may_have_reached_the_service_counts_for_the_rate(store, made, seconds):
    made(store)
    step, throttled = take(store, "k")
    if seconds is None:
        assert throttled is None and (step.state, step.owner) == ("sending", "owner of k")
    else:
        assert step is None and throttled.reason == "rate" and seconds / 2 < throttled.seconds <= seconds + 1
        assert store.get(["k"], None, PATIENCE) == []
        # Those without a rate are not held back.
        assert take(store, "k", None)[1] is None


@pytest.fixture
def sql(store, request):
    """Executes a statement, and returns a value if it is a query."""

    def execute(statement):
        if isinstance(store, SQLiteStore):
            with connected(store.path) as connection:
                row = connection.execute(statement).fetchone()
                return None if row is None else str(row[0])
        return request.getfixturevalue("server").sql(statement, request.getfixturevalue("postgresql_url"))

    return execute


@pytest.fixture
def age(store, sql):
    """Makes times of the rows earlier."""

    def make(column, seconds, key=None):
        where = "" if key is None else f"WHERE key = '{key}'"
        if isinstance(store, SQLiteStore):
            earlier = f"strftime('%Y-%m-%dT%H:%M:%fZ', {{}}, '{-seconds} seconds')"
            value = earlier.format(column)
            if column == "earlier_counts_from":
                value = f"json_set(earlier_counts_from, '$[0]', {earlier.format('''json_extract(earlier_counts_from, '$[0]')''')})"
        else:
            column += "[1]" if column == "earlier_counts_from" else ""
            value = f"{column} - interval '{seconds} seconds'"
        sql(f"UPDATE agentjob_steps SET {column} = {value} {where}")

    return make


def test_the_span_of_a_rate_slides(store, age):
    sent("a", "b")(store)
    age("counts_from", 3000, "a")
    step, throttled = take(store, "k")
    assert step is None and throttled.reason == "rate" and 60 < throttled.seconds <= 601
    age("counts_from", 601, "a")
    assert take(store, "k")[1] is None
    assert take(store, "l")[1].seconds > 1800


def test_each_message_of_a_step_counts_for_its_own_span(store, age):
    in_turn(sent("a", state="rejected"), sent("a", state="rejected"))(store)
    age("earlier_counts_from", 3000)
    assert 60 < take(store, "k")[1].seconds <= 601
    age("earlier_counts_from", 601)
    assert take(store, "k")[1] is None


@pytest.mark.parametrize("age_s", [3601, 86_401])
def test_the_times_of_a_step_that_is_tried_again_are_kept_for_the_longest_span(store, age, sql, age_s):
    """Also if a worker without a rate takes it: another may have one with a long span."""
    for _ in range(5):
        sent("a", state="rejected")(store)
        age("counts_from", age_s)
    assert take(store, "a", 1)[1] is None
    length = "json_array_length(earlier_counts_from)" if isinstance(store, SQLiteStore) else "cardinality(earlier_counts_from)"
    assert sql(f"SELECT coalesce({length}, 0) FROM agentjob_steps") == ("5" if age_s == 3601 else "0")


def test_workers_with_different_rates_count_the_same_messages(store):
    sent("a", state="rejected")(store)
    assert store.take("a", "job", "m", Taker("owner of a", 600.0, "scope", 2, 0.001), PATIENCE)[1] is None
    settle(store, "a", "rejected")
    assert take(store, "k", 3)[1] is None and take(store, "l", 3)[1].reason == "rate"


def test_a_clock_that_was_set_back_by_more_than_a_lease_forbids_nothing(store, age):
    in_turn(sent("a", "b"), sent("c", state="rejected"), sent("c", state="rejected"))(store)
    age("counts_from", -9 * 86_400)
    age("earlier_counts_from", -9 * 86_400, "c")
    assert take(store, "k")[1] is None


#: What was done before, and for how many seconds no worker of the scope may send; 0: all may.
PAUSES = [
    (lambda store: settle(store, "a", "rejected", 1800.0), 1800),
    (lambda store: settle(store, "a", "rejected", None), 0),
    (lambda store: (settle(store, "a", "rejected", 100.0), settle(store, "b", "rejected", 1800.0), settle(store, "c", "rejected", 10.0)), 1800),
]


@pytest.mark.parametrize(("made", "seconds"), PAUSES)
def test_a_429_to_one_worker_pauses_all(store, age, made, seconds):
    sent("a", "b", "c", state=None)(store)
    sent("accepted")(store)
    made(store)
    for key, messages in [("k", None), ("a", None), ("l", 100)]:
        step, throttled = take(store, key, messages)
        if seconds:
            assert (throttled.reason, step and step.state) == ("pause", "rejected" if key == "a" else None)
            assert seconds / 2 < throttled.seconds <= seconds
        else:
            assert throttled is None and step.state == "sending"
    # What is known is known, and another project may send.
    step, throttled = take(store, "accepted")
    assert (step.state, throttled) == ("accepted", None)
    assert take(store, "other", None, "another project's")[1] is None
    age("pause_until", 1801)
    assert take(store, "m", None)[1] is None


def test_the_longer_of_rate_and_pause_is_reported(store):
    sent("a", "b", "c", state=None)(store)
    settle(store, "a", "rejected", 1800.0)
    assert take(store, "k")[1].reason == "rate" and take(store, "k", 100)[1].reason == "pause"
    settle(store, "b", "rejected", 7200.0)
    assert take(store, "k")[1].reason == "pause"


def test_a_pause_that_is_longer_than_any_comes_from_a_clock_that_was_set(store, age):
    sent("a", state=None)(store)
    settle(store, "a", "rejected", 1800.0)
    age("pause_until", -3 * 86_400)
    assert take(store, "k", None)[1] is None


def test_of_many_takers_no_more_than_the_rate_get_a_step(store):
    ready, found = threading.Barrier(8), []

    def worker(n):
        ready.wait(PATIENCE)
        for round in range(5):
            found.append(take(store, f"worker {n} round {round}", 7)[0])

    workers = [threading.Thread(target=worker, args=(n,)) for n in range(8)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join(120)
    assert len(found) == 40 and len([step for step in found if step is not None]) == 7


def test_a_rate_holds_over_processes_and_says_when_to_call_again(emulator, database):
    emulator.reset(hourly_limit=1000)
    source = f"""
import agentjob, sys
from agentjob.once import Once
once = Once(agentjob.Client(trust_env=False), {str(database)!r}, rate="7/h")
sys.stdin.readline()
for n in range(5):
    try:
        once.send_message(f"{{sys.argv[1]}} {{n}}", "job_demo", "p")
        print("sent")
    except agentjob.RateLimitError as error:
        assert error.delivery == "not_sent" and 1800 < error.retry_after <= 3601, error
"""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, **emulator.environment()}
    workers = [subprocess.Popen([sys.executable, "-c", source, str(n)], env=environment, **options) for n in range(4)]
    for worker in workers:
        worker.stdin.write("\n")
        worker.stdin.flush()
    out = [worker.communicate(timeout=3 * PATIENCE) for worker in workers]
    assert "".join(error for _, error in out) == ""
    assert sum(said.count("sent") for said, _ in out) == len(prompts(emulator)) == 7


def test_a_call_waits_until_the_rate_allows_its_message(emulator, client, database):
    once = Once(client, database, rate="2/s")
    for n in range(6):
        once.send_message(f"k{n}", "job_demo", f"p{n}")
    times = [message["at_ms"] for message in emulator.ledger()]
    assert len(times) == 6 and all(later - earlier >= 1000 for earlier, later in zip(times, times[2:])), times


def test_a_call_that_may_not_send_before_it_must_end_ends_at_once(emulator, client, database):
    once = Once(client.with_options(timeout=600), database, rate="1/h")
    once.send_message("k", "job_demo", "p")
    assert once.send_message("k", "job_demo", "p")["id"] == "job_demo", "what is known needs no message"
    began = time.monotonic()
    error = raised(once.send_message, "l", "job_demo", "p")
    assert time.monotonic() - began < PATIENCE and (error.kind, error.delivery, error.http_status) == ("rate_limit", "not_sent", None)
    assert 1800 < error.retry_after <= 3601 and pickle.loads(pickle.dumps(error)).retry_after == error.retry_after
    assert str(error).startswith('step "l": message to job job_demo was not sent: the rate of its store is used up. Retry after 3')
    Once(client, database).send_message("l", "job_demo", "p")
    assert prompts(emulator) == ["p", "p"]


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_a_call_that_waits_for_the_end_of_a_pause_ends_when_it_is_cancelled_or_the_client_is_closed(emulator, client, database, end):
    taken(opened(database), client)
    opened(database).settle("k", "another", StepOutcome("rejected", None, pause=1800.0), 10.0)
    patient = client.with_options(timeout=4000)
    token = agentjob.CancelToken()
    threading.Timer(0.3, token.cancel if end == "cancel" else patient.close).start()
    began = time.monotonic()
    error = raised(Once(patient, database).send_message, "l", "job_demo", "p", cancel=token)
    assert time.monotonic() - began < PATIENCE and (error.kind, error.delivery) == ("cancelled" if end == "cancel" else "closed", "not_sent")
    assert prompts(emulator) == [] and [step["key"] for step in Once(client, database).steps()] == ["k"]


def test_a_pause_that_is_ended_by_hand_is_over_for_calls_that_wait_for_it(emulator, client, store, sql):
    taken(store, client)
    store.settle("k", "another", StepOutcome("rejected", None, pause=1800.0), PATIENCE)
    call = threading.Thread(target=Once(client.with_options(timeout=4000), store).send_message, args=("l", "job_demo", "p"))
    call.start()
    call.join(0.3)
    assert call.is_alive() and prompts(emulator) == []
    sql("UPDATE agentjob_steps SET pause_until = NULL")
    call.join(PATIENCE)
    assert prompts(emulator) == ["p"]


class Late(Wrapped):
    """The statement that records the first outcome is executed once more, after the message was sent again: its connection broke."""

    first = None

    def settle(self, *arguments):
        if self.first is None:
            self.first = arguments
            return self.store.settle(*arguments)
        self.store.settle(*self.first)
        return self.store.settle(*arguments)


def test_an_outcome_that_is_recorded_twice_says_nothing_about_the_message_that_was_sent_since(emulator, client, database):
    emulator.reset(rules=[{**POST, "status": 429, "headers": {"Retry-After": "1"}}])
    once = Once(client, Late(database))
    assert once.send_message("k", "job_demo", "p")["id"] == once.send_message("k", "job_demo", "p")["id"] == "job_demo"
    assert prompts(emulator) == ["p"] and state(once) == "accepted"


#: The header of a 429, and how long it pauses all workers.
ASKED = [({"Retry-After": "1800"}, 1800), ({}, 60), ({"Retry-After": "864000"}, 86_400)]


@pytest.mark.parametrize(("headers", "seconds"), ASKED, ids=str)
def test_a_429_that_one_worker_got_reaches_the_others_without_the_service(emulator, client, database, headers, seconds):
    emulator.reset(rules=[{**POST, "status": 429, "headers": headers}])
    error = raised(Once(client, database).send_message, "k", "job_demo", "p")
    assert (error.kind, error.delivery, error.http_status) == ("rate_limit", "rejected", 429)
    for key in ("k", "l"):
        error = raised(Once(client.with_options(timeout=10), database, rate="100/h").send_message, key, "job_demo", "p")
        assert (error.kind, error.delivery) == ("rate_limit", "not_sent") and seconds / 4 < error.retry_after <= seconds
        assert "was not sent: the service said that it is called too often (429). Retry after" in str(error)
    assert len(emulator.requests()["requests"]) == 1
    assert [step["state"] for step in Once(client, database).steps()] == ["rejected"]


def test_a_429_that_asks_for_a_moment_is_waited_for_by_all(emulator, client, database):
    limited = {**POST, "status": 429, "headers": {"Retry-After": "2"}}
    emulator.reset(rules=[limited])
    calls = [threading.Thread(target=Once(client, database).send_message, args=(f"k{n}", "job_demo", f"p{n}")) for n in range(2)]
    calls[0].start()
    wait_for(lambda: [step for step in Once(client, database).steps() if step["state"] != "sending"], "the first one got a 429")
    calls[1].start()
    for call in calls:
        call.join(60)
    assert prompts(emulator) == ["p0", "p1"]
    assert all(message["at_ms"] >= 2000 for message in emulator.ledger())
    assert [request["status"] for request in emulator.requests()["requests"]] == [429, 200, 200]
    assert [step["sends"] for step in Once(client, database).steps()] == [2, 1]


@pytest.mark.parametrize(("timeout", "waits"), [(40, False), (600, True)])
def test_a_call_does_not_wait_if_it_would_have_little_time_left_to_send(emulator, client, database, timeout, waits):
    """A quarter of the timeout must be left."""
    taken(opened(database), client)
    opened(database).settle("k", "another", StepOutcome("rejected", None, pause=39.5), PATIENCE)
    token = agentjob.CancelToken()
    if waits:
        threading.Timer(1.0, token.cancel).start()
    error = raised(Once(client.with_options(timeout=timeout), database).send_message, "l", "job_demo", "p", cancel=token)
    assert (error.kind, error.delivery) == ("cancelled" if waits else "rate_limit", "not_sent") and prompts(emulator) == []


#: A setting of the client, what the service asks for, and how often the message is posted.
LIMITS = [({"max_retries": 0}, "1", 1), ({"max_retries": 1, "timeout": 300}, "1", 2), ({"max_retries": 1, "timeout": 300}, "0", 2), ({"max_retry_after": 0.5}, "1", 1), ({"timeout": 39}, "30", 1)]


@pytest.mark.parametrize(("option", "asked", "posts"), LIMITS, ids=str)
def test_a_call_sends_again_after_a_429_as_often_as_the_client_allows(emulator, client, database, option, asked, posts):
    emulator.reset(rules=[{"method": "POST", "status": 429, "headers": {"Retry-After": asked}}])
    error = raised(Once(client.with_options(**option), database).send_message, "k", "job_demo", "p")
    assert (error.kind, error.delivery) == ("rate_limit", "rejected")
    assert len(emulator.requests()["requests"]) == posts


def test_a_429_to_a_resend_leaves_the_first_message_unknown_and_holds_all_back(emulator, client, database):
    emulator.reset(rules=[LOST, {"method": "POST", "nth": 2, "status": 429, "headers": {"Retry-After": "3000"}}])
    once = Once(client, database)
    raised(once.send_message, "k", "job_demo", "p")
    once.resolve("k", "resend")
    error = raised(once.send_message, "k", "job_demo", "p")
    assert (error.kind, error.delivery, state(once)) == ("rate_limit", "unknown", "unknown") and error.retry_after == 3000
    assert raised(once.send_message, "k", "job_demo", "p").delivery == "unknown", "that is known, and needs no message"
    error = raised(once.send_message, "l", "job_demo", "p")
    assert (error.kind, error.delivery) == ("rate_limit", "not_sent") and prompts(emulator) == ["p"]


def test_asyncio_has_the_rate_too(emulator, database):
    async def main():
        async with agentjob.aio.AsyncClient(**settings(emulator)) as client:
            once = AsyncOnce(client, database, rate="1/h")
            await once.send_message("k", "job_demo", "p")
            with pytest.raises(agentjob.RateLimitError):
                await once.send_message("l", "job_demo", "p")

    asyncio.run(main())
    assert prompts(emulator) == ["p"]


@pytest.mark.parametrize("rate", ["100", "0/h", 100, "1/week"])
def test_a_rate_that_is_none_is_refused(client, database, rate):
    with pytest.raises((agentjob.InvalidArgumentError, TypeError), match="rate"):
        Once(client, database, rate=rate)
