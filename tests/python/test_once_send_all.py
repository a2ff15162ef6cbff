"""Once.send_all: a list that the workers of a store work off together. The tables of docs/reference/steps.md have their rows here."""

import collections
import os
import sqlite3
import subprocess
import sys
import threading

import pytest
from conftest import PATIENCE, QUICK, wait_for
from steps import LOST, Stopping, Wrapped, opened, prompts, raised, state, taken
from test_batch_sequence import by_item, deliveries

import agentjob
from agentjob.once import Once, StepOutcome, Taker
from agentjob.testing import Emulator

JOBS = [{"id": "a"}, {"id": "b"}, {"id": "stuck", "status": "active"}]
MESSAGE_TO_A = {"method": "POST", "path": "/v2/agent/*/job/a/message"}


@pytest.fixture
def service():
    with Emulator(jobs=JOBS, work_ms=300, busy=True, hourly_limit=100_000) as emulator:
        yield emulator


def messages(*jobs):
    return [(job, f"message {n}", f"key {n}") for n, job in enumerate(jobs, 1)]


def sent(emulator):
    return [int(message["prompt"].removeprefix("message ")) for message in emulator.ledger()]


def worker(emulator, source):
    """A process that has a client."""
    source = "import agentjob, sys\nfrom agentjob.once import Once\nclient = agentjob.Client(trust_env=False)\n" + source
    environment = {**os.environ, **emulator.environment()}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", source], env=environment, text=True, **pipes)


def test_the_workers_of_a_store_work_a_list_off_together(service, database):
    """Each message is sent once, each worker has every outcome, and with a wait every outcome has its own result."""
    jobs = [{"id": f"job {n}"} for n in range(15)]
    service.reset(jobs=jobs, work_ms=30, busy=True, hourly_limit=100_000)
    source = f"""
items = [(f"job {{n % 15}}", f"message {{n}}", f"key {{n}}") for n in range(90)]
once = Once(client, {str(database)!r})
print("ready", flush=True)
sys.stdin.readline()
outcomes = list(once.send_all(items, wait=True, max_interval=0.05))
for outcome in outcomes:
    print(outcome["key"], outcome["delivery"], outcome["job"]["prLink"], outcome["earlier"])
"""
    workers = [worker(service, source) for _ in range(3)]
    for each in workers:
        assert each.stdout.readline() == "ready\n"
    for each in workers:
        each.stdin.write("\n")
        each.stdin.flush()
    links = None
    own = 0
    for each in workers:
        out, err = each.communicate(timeout=3 * PATIENCE)
        assert err == "", err
        lines = [line.rsplit(" ", 3) for line in out.splitlines()]
        links = links or {"key " + entry["prompt"].removeprefix("message "): entry["pr_link"] for entry in service.ledger()}
        assert {key: link for key, _, link, _ in lines} == links and {line[1] for line in lines} == {"accepted"}
        own += sum(line[3] == "False" for line in lines)
    assert own == len(sent(service)) == 90
    # Messages to one job came in the order of the list.
    for n in range(15):
        assert [at for at in sent(service) if at % 15 == n] == list(range(n, 90, 15))


def test_a_second_run_sends_nothing(service, database):
    once = Once(service.client(), database)
    items = [{"job_id": "a", "prompt": "p", "key": "k", "line": 7, "extra": {"ticket": 1}}]
    for earlier in (False, True):
        (outcome,) = once.send_all(items)
        assert outcome.pop("job")["id"] == "a"
        assert outcome == {
            "item": 1, "line": 7, "key": "k", "job_id": "a", "delivery": "accepted", "error": None, "earlier": earlier, "extra": {"ticket": 1},
        }  # fmt: skip
    assert prompts(service) == ["p"]
    assert list(once.send_all([])) == []


class Counting(Wrapped):
    def __init__(self, database):
        super().__init__(database)
        self.statements = collections.Counter()

    def __getattr__(self, name):
        self.statements[name] += 1
        return super().__getattr__(name)


def test_a_message_costs_two_statements_and_a_result_one_more(service, database):
    service.reset(jobs=JOBS, work_ms=20)
    store = Counting(database)
    once = Once(service.client(), store)
    store.statements.clear()
    # One at a time: a statement that another one holds up is tried again.
    assert deliveries(once.send_all(messages("a", "b", "a"), concurrency=1)) == ["accepted"] * 3
    assert store.statements == {"get": 1, "take": 3, "settle": 3}
    wait_for(lambda: service.client().get_job("a")["status"] == "completed", "the job is done")
    store.statements.clear()
    assert deliveries(once.send_all([("a", "p", "waits")], wait=True)) == ["accepted"]
    assert store.statements == {"get": 1, "take": 1, "settle": 1, "finish": 1}


def test_a_hundred_thousand_known_messages_cost_one_statement(service, database):
    class Known(Counting):
        def get(self, keys, *arguments):
            self.statements["get"] += 1
            (step,) = self.store.get(["k"], *arguments)
            return [step._replace(key=key) for key in keys]

    Once(service.client(), database).send_message("k", "a", "p")
    store = Known(database)
    once = Once(service.client(), store)
    store.statements.clear()
    outcomes = once.send_all([("a", "p", f"key {n}") for n in range(100_000)])
    assert sum(outcome["delivery"] == "accepted" for outcome in outcomes) == 100_000
    assert store.statements == {"get": 1} and prompts(service) == ["p"]


#: What a service does; the messages' deliveries, what it processed, and the state of the first step, after a run and after another one.
TABLE = {
    "accepted": ({}, ["accepted"] * 3, [1, 2, 3], "accepted", [1, 2, 3]),
    "its record can't be read": (
        {"rules": [{**MESSAGE_TO_A, "nth": 1, "status": 200, "body": "{"}]},
        ["accepted"] * 3, [1, 2, 3], "accepted", [1, 2, 3],
    ),
    "rejected": (
        {"rules": [{**MESSAGE_TO_A, "nth": 1, "status": 400}]},
        ["rejected", "accepted", "accepted"], [2, 3], "rejected", [2, 3],
    ),
    "its job is busy": (
        {"jobs": [{"id": "a", "status": "active", "finish_after_ms": 2500}, {"id": "b"}]},
        ["accepted"] * 3, [3, 1, 2], "accepted", [3, 1, 2],
    ),
    "its job stays busy": (
        {"jobs": [{"id": "a", "status": "active"}, {"id": "b"}]},
        ["rejected", "rejected", "accepted"], [3], "not_sent", [3],
    ),
    "too many messages": (
        {"rules": [{"method": "POST", "nth": 1, "status": 429, "headers": {"Retry-After": "1"}}]},
        ["accepted"] * 3, [1, 2, 3], "accepted", [1, 2, 3],
    ),
    "not sent, as the service can't be reached": (
        {"rules": [{**MESSAGE_TO_A, "nth": 1, "status": 425}]},
        ["accepted"] * 3, [1, 2, 3], "accepted", [1, 2, 3],
    ),
    "unknown": ({"rules": [{**LOST, **MESSAGE_TO_A}]}, ["unknown", "not_sent", "accepted"], [1, 3], "unknown", [1, 3]),
    "the wait ended without a result": (
        {"rules": [{"method": "GET", "path": "/v2/agent/*/job/a", "nth": 1, "status": 400}]},
        ["accepted", "not_sent", "accepted"], [1, 3], "accepted", [1, 2, 3],
    ),
}  # fmt: skip


@pytest.mark.parametrize("row", TABLE)
def test_what_happens_to_a_message_and_to_the_next_one_of_its_job(service, database, row):
    config, expected, processed, first, then = TABLE[row]
    service.reset(**{"jobs": JOBS, "work_ms": 300, "busy": True, **config})
    once = Once(service.client(max_retries=0), database)
    options = {"wait": True, "concurrency": 1, **QUICK, "settle": 0.3, "max_busy": 0.5 if row == "its job stays busy" else PATIENCE}
    outcomes = by_item(once.send_all(messages("a", "a", "b"), **options))
    assert [outcome["delivery"] for outcome in outcomes] == expected
    assert sorted(sent(service)) == sorted(processed) and [n for n in sent(service) if n != 3] == [n for n in processed if n != 3]
    assert state(once, "key 1") == first
    links = {"key " + entry["prompt"].removeprefix("message "): entry["pr_link"] for entry in service.ledger()}
    for outcome in outcomes:
        if outcome["delivery"] == "accepted" and outcome["error"] is None:
            assert outcome["job"]["prLink"] == links[outcome["key"]], outcome
        else:
            assert outcome["error"].delivery == outcome["delivery"]
    if expected[1] == "not_sent":
        error = outcomes[1]["error"]
        assert type(error) is agentjob.ConflictError and '"key 1", to the same job' in str(error)
    # Only what a person has to decide about, or what is rejected, is not sent by the next run; a busy job is tried again.
    list(once.send_all(messages("a", "a", "b"), **options))
    assert sorted(sent(service)) == sorted(then)


def test_what_is_held_is_sent_when_the_message_before_it_is_decided(service, database):
    service.reset(jobs=JOBS, rules=[{**LOST, **MESSAGE_TO_A}])
    once = Once(service.client(), database)
    assert deliveries(once.send_all(messages("a", "a"))) == ["unknown", "not_sent"]
    once.resolve("key 1", "arrived")
    assert deliveries(once.send_all(messages("a", "a"))) == ["accepted"] * 2
    once.send_message("another", "a", "message 3")
    assert sent(service) == [1, 2, 3]


@pytest.mark.parametrize("resolution", ["not_arrived", "resend"])
def test_the_next_run_sends_what_was_decided(service, database, resolution):
    service.reset(jobs=JOBS, rules=[{**LOST, "fault": {"do": "close", "at": "request", "process": False}}])
    once = Once(service.client(), database)
    assert deliveries(once.send_all(messages("a"))) == ["unknown"]
    once.resolve("key 1", resolution)
    assert deliveries(once.send_all(messages("a"))) == ["accepted"] and sent(service) == [1]


def test_a_message_that_another_worker_rejected_is_not_sent_again(service, database):
    """Also if this worker began before. One whose job was busy is."""
    service.reset(jobs=JOBS, rules=[{**MESSAGE_TO_A, "status": 400}])
    client = service.client()
    begun, released = threading.Event(), threading.Event()
    store = Stopping(database, before={"take": lambda: begun.set() or released.wait(PATIENCE)})
    outcomes = []
    run = threading.Thread(target=lambda: outcomes.extend(Once(client, store).send_all(messages("a", "b"))))
    run.start()
    assert begun.wait(PATIENCE)
    assert deliveries(Once(client, database).send_all(messages("a", "b"))) == ["rejected", "accepted"]
    released.set()
    run.join(PATIENCE)
    assert deliveries(outcomes) == ["rejected", "accepted"] and [outcome["earlier"] for outcome in outcomes] == [True, True]
    assert len([request for request in service.requests()["requests"] if request["method"] == "POST"]) == 2
    # A call of its own sends it.
    assert raised(Once(client, database).send_message, "key 1", "a", "message 1").http_status == 400


def test_the_outcome_of_another_worker_is_waited_for(service, database):
    client = service.client()
    once, store = Once(client, database), opened(database)
    taken(store, client, key="key 1", prompt="p", owner="another")
    items = [("job_demo", "p", "key 1"), ("b", "p", "key 2")]
    iterator = once.send_all(items)
    assert next(iterator)["key"] == "key 2"
    store.settle("key 1", "another", StepOutcome("rejected", '{"delivery":"rejected","kind":"bad_request","http_status":400}'), 10.0)
    (outcome,) = iterator
    assert (outcome["delivery"], outcome["earlier"], outcome["error"].http_status) == ("rejected", True, 400)


@pytest.mark.parametrize("wait", [False, True])
def test_the_outcome_of_another_worker_is_waited_for_behind_a_message_of_this_one(service, database, wait):
    """Nothing else of the list is another worker's, when this one begins."""
    client = service.client()
    store = opened(database)
    store.take("key 2", "a", agentjob._native.step_message(client, "key 2", "a", "message 2"), Taker("gone", 0.5, "scope", None, None), 10.0)
    run = Once(client, database).send_all(messages("a", "a", "a"), wait=wait, **QUICK)
    outcomes = []
    thread = threading.Thread(target=lambda: outcomes.extend(run), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert deliveries(outcomes) == ["accepted", "unknown", "not_sent"]


def test_a_worker_that_is_gone_leaves_an_unknown_message(service, database):
    client = service.client()
    taken(opened(database), client, key="key 1", prompt="p", owner="gone", lease=0.5)
    (outcome,) = Once(client, database).send_all([("job_demo", "p", "key 1")])
    assert outcome["delivery"] == "unknown" and "recorded no outcome before its lease was over" in str(outcome["error"])


def test_the_result_for_a_worker_that_is_gone_is_waited_for(service, database):
    once = Once(service.client(), database)
    iterator = once.send_all(messages("a"))
    next(iterator)
    (outcome,) = once.send_all(messages("a"), wait=True)
    (link,) = {entry["pr_link"] for entry in service.ledger()}
    assert (outcome["job"]["prLink"], outcome["earlier"]) == (link, True)
    assert once.wait("key 1")["prLink"] == link


def test_the_result_that_another_worker_recorded_counts(service, database):
    """It may have sent the job's next message, whose result this one would see."""

    class Late(Wrapped):
        def finish(self, step, result):
            self.store.finish(step, '{"id":"a","status":"completed","prLink":"https://example.com/first"}')
            return self.store.finish(step, result)

    (outcome,) = Once(service.client(), Late(database)).send_all(messages("a"), wait=True)
    assert outcome["job"]["prLink"] == "https://example.com/first"
    once = Once(service.client(), Late(database))
    once.send_message("alone", "b", "p")
    assert once.wait("alone")["prLink"] == "https://example.com/first"


def test_a_result_may_be_that_of_a_later_message_of_another_worker_and_then_is_nobody_s(service, database):
    """A worker waits, and another one, which doesn't, sends the job's next messages before the first one's next poll."""
    service.reset(jobs=JOBS, work_ms=500)
    all_sent = threading.Event()

    def hold_polls(event):
        if event["event"] == "attempt" and event["operation"] == "get_job":
            assert all_sent.wait(PATIENCE)

    once = Once(service.client(), database)
    waiting = Once(service.client(on_event=hold_polls), database).send_all(messages("a", "a", "a"), wait=True, **QUICK)
    outcomes = []
    run = threading.Thread(target=lambda: outcomes.extend(waiting))
    run.start()
    wait_for(lambda: sent(service) == [1], "it has sent the first one")
    assert deliveries(once.send_all(messages("a", "a", "a"))) == ["accepted"] * 3
    all_sent.set()
    run.join(PATIENCE)
    link = service.ledger()[2]["pr_link"]
    assert [outcome["job"] and outcome["job"]["prLink"] for outcome in by_item(outcomes)] == [None, None, link]
    assert [step["job"] and step["job"]["prLink"] for step in once.steps()][2] == link
    list(once.send_all([("a", "p", "later")]))
    # An earlier one is not taken for its result, also not in another list.
    (outcome,) = once.send_all([("a", "message 2", "key 2")], wait=True, **QUICK)
    assert outcome["job"] is None


@pytest.mark.parametrize("has_result", [True, False])
def test_what_others_did_counts_before_the_job_s_next_messages_are_held(service, database, has_result):
    """This worker's polls fail until its wait times out. Meanwhile another one saw the result, perhaps, and sent the next message."""
    service.reset(jobs=JOBS, rules=[{"method": "GET", "status": 503}])
    store = opened(database)
    iterator = Once(service.client(), database).send_all(messages("a", "a", "a"), wait=True, timeout=2)
    outcomes = []
    run = threading.Thread(target=lambda: outcomes.extend(iterator))
    run.start()
    wait_for(lambda: store.get(["key 1"], "accepted", 10.0), "it has sent the first one")
    if has_result:
        (first,) = store.get(["key 1"], None, 10.0)
        assert store.finish(first, '{"id":"a","status":"completed","prLink":"https://example.com/first"}')
    Once(service.client(), database).send_message("key 2", "a", "message 2")
    run.join(PATIENCE)
    first, second, third = by_item(outcomes)
    assert [first["delivery"], second["delivery"], third["delivery"]] == ["accepted", "accepted", "not_sent"]
    assert type(first["error"]) is (type(None) if has_result else agentjob.WaitTimeoutError)
    assert (first["job"] or {}).get("prLink") == ("https://example.com/first" if has_result else None)


def test_a_job_that_got_several_messages_before_its_result_was_read_has_one_for_the_last(service, database):
    service.reset(jobs=JOBS)
    once = Once(service.client(), database)
    list(once.send_all(messages("a", "a")))
    first, second = by_item(once.send_all(messages("a", "a"), wait=True))
    assert first["job"] is None and first["delivery"] == "accepted"
    assert second["job"]["prLink"] == service.ledger()[1]["pr_link"]


#: The second item of a list, and what is wrong with it.
WRONG = [
    (("a", "p"), "item 2: key is missing. Give each message a key of its own"),
    ({"job_id": "b", "prompt": "p", "key": "first", "line": 9}, 'line 9: key "first" is also the key of item 1'),
    (("a", "", "k"), "item 2: prompt is empty"),
    (("a", "p", "k\n"), "item 2: key ends with white space"),
    (("a", "p", "known"), 'step "known" is another message: the store has it to job b'),
    (("b", "another", "known"), 'step "known" is another message: the store has it with another prompt'),
]


@pytest.mark.parametrize(("item", "reason"), WRONG)
def test_a_list_with_a_mistake_is_refused_before_anything_is_sent(service, database, item, reason):
    once = Once(service.client(), database)
    once.send_message("known", "b", "p")
    with pytest.raises(agentjob.InvalidArgumentError) as caught:
        list(once.send_all([("a", "q", "first"), item]))
    assert str(caught.value).startswith(reason) and prompts(service) == ["p"]


@pytest.mark.parametrize(
    "options", [{"concurrency": 0}, {"concurrency": 65}, {"grace": -1}, {"max_outage": 0}, {"max_busy": -1}, {"timeout": 0}, {"headers": {"a\n": "b"}}], ids=str
)
def test_a_wrong_option_is_refused_at_once(service, database, options):
    with pytest.raises(agentjob.InvalidArgumentError):
        Once(service.client(), database).send_all(messages("a"), **options)
    with pytest.raises(TypeError):
        Once(service.client(), database).send_all(messages("a"), **dict.fromkeys(options, object()))


def test_after_a_service_failure_a_poll_goes_first_and_one_message_alone(service, database):
    """So an outage makes at most the messages in flight unknown, and one more for each probe."""
    fails = [{"method": "POST", "nth": 1, "status": 503}, *({"method": "GET", "nth": nth, "status": 503} for nth in (1, 2))]
    service.reset(jobs=[{"id": f"job {n}"} for n in range(5)], rules=fails)
    items = [(f"job {n}", "p", f"key {n}") for n in range(5)]
    outcomes = by_item(Once(service.client(max_retries=0), database).send_all(items, concurrency=1))
    assert [outcome["delivery"] for outcome in outcomes] == ["unknown"] + ["accepted"] * 4
    calls = [(request["method"], request["status"]) for request in service.requests()["requests"]]
    assert calls == [("POST", 503), ("GET", 503), ("GET", 503), ("GET", 200), *[("POST", 200)] * 4]


def test_an_outage_ends_the_run_after_max_outage(service, database):
    service.reset(jobs=JOBS, rules=[{"status": 503}])
    iterator = Once(service.client(max_retries=0), database).send_all(messages("a", "b"), max_outage=0.5, concurrency=1)
    assert next(iterator)["delivery"] == "unknown"
    with pytest.raises(agentjob.ServerError) as caught:
        next(iterator)
    assert any("(max_outage); run it again to continue" in note for note in caught.value.__notes__)


#: What ends the run: of the first message, or of the poll after a service failure.
STOPS = [
    ({"method": "POST", "nth": 1, "status": 401}, agentjob.AuthenticationError, []),
    ({"method": "POST", "nth": 1, "status": 403}, agentjob.PermissionDeniedError, []),
    ({"method": "POST", "nth": 1, "status": 307, "headers": {"Location": "/"}}, agentjob.RedirectError, []),
    ({"method": "POST", "nth": 1, "status": 302, "headers": {"Location": "/"}}, agentjob.RedirectError, ["unknown"]),
    ({"method": "GET", "status": 401}, agentjob.AuthenticationError, ["unknown"]),
]


@pytest.mark.parametrize(("rule", "error", "unknown"), STOPS)
def test_a_failure_that_every_message_would_have_ends_the_run(service, database, rule, error, unknown):
    failure = [{"method": "POST", "nth": 1, "status": 503}] if rule["method"] == "GET" else []
    service.reset(jobs=JOBS, rules=[rule, *failure])
    once = Once(service.client(), database)
    outcomes = []
    with pytest.raises(error) as caught:
        for outcome in once.send_all(messages("a", "b"), concurrency=1):
            outcomes.append(outcome["delivery"])
    assert (outcomes, sent(service)) == (unknown, [])
    assert failure or "the list was stopped; run it again to continue" in str(caught.value.__notes__)
    service.reset(jobs=JOBS)
    assert deliveries(once.send_all(messages("a", "b"))) == [*unknown, "accepted", "accepted"][:2]


def test_a_429_is_a_response_and_ends_an_outage(service, database):
    statuses = [503, 429, 503]
    rules = [{"method": "POST", "nth": nth, "status": status, "headers": {"Retry-After": "3"}} for nth, status in enumerate(statuses, 1)]
    service.reset(jobs=[{"id": f"job {n}"} for n in range(3)], rules=rules)
    items = [(f"job {n}", "p", f"key {n}") for n in range(3)]
    outcomes = Once(service.client(max_retries=0), database).send_all(items, concurrency=1, max_outage=2)
    assert deliveries(outcomes) == ["unknown", "unknown", "accepted"]


def test_while_the_rate_is_used_up_after_a_service_failure_it_is_polled_once(service, database, monkeypatch):
    monkeypatch.setattr("agentjob._once.worker.ASKS", 0.2)
    service.reset(jobs=JOBS, rules=[{"method": "POST", "nth": 1, "status": 503}])
    store, token = Counting(database), agentjob.CancelToken()
    once = Once(service.client(max_retries=0), store, rate="1/h")

    def cancels():
        wait_for(lambda: store.statements["take"] >= 6, "it has asked several times whether it may send")
        token.cancel()

    end = threading.Thread(target=cancels)
    end.start()
    with pytest.raises(agentjob.CancelledError):
        list(once.send_all(messages("a", "b"), cancel=token))
    end.join()
    assert [request["method"] for request in service.requests()["requests"]] == ["POST", "GET"]


@pytest.mark.parametrize("resolution", ["arrived", "not_arrived"])
def test_a_decision_during_the_send_does_not_stop_the_run(service, database, resolution):
    """The lease is over, and a person decides. Then the response comes, and this run does not send the message again."""
    client = service.client()

    class Late(Wrapped):
        def take(self, key, job_id, message, taker, patience):
            return self.store.take(key, job_id, message, taker._replace(lease=0.05) if key == "key 1" else taker, patience)

        def settle(self, key, *arguments):
            if key == "key 1":
                wait_for(lambda: self.store.get([key], "unknown", 10.0), "its lease is over")
                Once(client, database).resolve(key, resolution)
            return self.store.settle(key, *arguments)

    outcomes = by_item(Once(client, Late(database)).send_all(messages("a", "b"), wait=True, **QUICK))
    assert [outcome["delivery"] for outcome in outcomes] == ["accepted"] * 2 and sorted(sent(service)) == [1, 2]
    decided_otherwise = outcomes[0]["error"]
    assert decided_otherwise is None if resolution == "arrived" else "a person resolved it otherwise" in str(decided_otherwise)


@pytest.mark.parametrize(("status", "resolution", "arrived"), [(503, "arrived", 0), (422, "arrived", 0), (503, "not_arrived", 1), (429, "not_arrived", 1)])
def test_a_failure_counts_although_a_person_has_decided_about_its_message(service, database, status, resolution, arrived):
    """The service gets its pause, and what this run sent is not called another one's."""
    service.reset(jobs=JOBS, rules=[{"method": "POST", "nth": 1, "status": status, "headers": {"Retry-After": "2"}}])
    client = service.client(max_retries=0)

    class Decided(Wrapped):
        is_first = True

        def take(self, key, job_id, message, taker, patience):
            return self.store.take(key, job_id, message, taker._replace(lease=0.05) if self.is_first else taker, patience)

        def settle(self, key, *arguments):
            if self.is_first:
                self.is_first = False
                wait_for(lambda: self.store.get([key], "unknown", 10.0), "its lease is over")
                Once(client, database).resolve(key, resolution)
            return self.store.settle(key, *arguments)

    (outcome,) = Once(client, Decided(database)).send_all(messages("a"))
    assert (outcome["delivery"], outcome["earlier"]) == ("accepted", False) and len(sent(service)) == arrived
    assert all(entry["at_ms"] >= 400 for entry in service.ledger())


def test_a_run_whose_client_is_closed_says_nothing_about_messages_that_it_did_not_send(service, database):
    client = service.client()
    once = Once(client, database)
    once.steps()
    client.close()
    outcomes = []
    with pytest.raises(agentjob.ClosedError):
        for outcome in once.send_all(messages("a", "b")):
            outcomes.append(outcome)
    assert outcomes == [] and Once(service.client(), database).steps() == []


def test_a_store_that_is_locked_for_long_stops_the_run(service, tmp_path, monkeypatch):
    monkeypatch.setattr("agentjob._once.worker.PATIENCE", 0.5)
    once = Once(service.client(), tmp_path / "steps.db")
    once.send_message("k", "b", "p")
    connection = sqlite3.connect(once.store.path, isolation_level=None)
    iterator = once.send_all(messages("a"))
    connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(agentjob.StoreError, match="locked by another program"):
        list(iterator)
    connection.execute("ROLLBACK")
    connection.close()
    assert deliveries(once.send_all(messages("a"))) == ["accepted"]


@pytest.mark.parametrize("raises", [agentjob.StoreError, KeyError])
@pytest.mark.parametrize(("status", "delivery"), [(200, "accepted"), (503, "unknown"), (400, "rejected")])
def test_each_message_in_flight_has_its_outcome_although_the_store_is_gone(service, database, monkeypatch, raises, status, delivery):
    """The first that can't be recorded ends the run."""
    monkeypatch.setattr("agentjob._once.calls.SETTLES", 0.5)
    service.reset(jobs=[{"id": f"job {n}"} for n in range(4)], rules=[{"method": "POST", "status": status}] if status != 200 else [])

    class Gone(Wrapped):
        in_flight, tried = threading.Barrier(4), set()

        def settle(self, key, *arguments):
            if key not in self.tried:
                self.tried.add(key)
                self.in_flight.wait(PATIENCE)
            raise raises("the store is gone")

    outcomes = []
    with pytest.raises((agentjob.Error, KeyError)):
        for outcome in Once(service.client(max_retries=0), Gone(database)).send_all([(f"job {n}", "p", f"key {n}") for n in range(4)], grace=PATIENCE):
            outcomes.append(outcome)
    assert deliveries(outcomes) == [delivery] * 4
    for outcome in outcomes:
        error = outcome["error"]
        assert error.delivery == delivery and not outcome["earlier"]
        assert "could not be recorded" in str(error) + str(error.__notes__)
        assert (error.job or {}).get("id") == (outcome["job_id"] if status == 200 else None) == (outcome["job"] or {}).get("id")


def test_the_rate_holds_over_all_runs_of_a_store(service, database):
    once = [Once(service.client(), database, rate="4/s") for _ in range(2)]
    items = [(f"job {n}", "p", f"key {n}") for n in range(12)]
    service.reset(jobs=[{"id": job} for job, *_ in items], hourly_limit=100)
    outcomes = []
    runs = [threading.Thread(target=lambda one=one: outcomes.append(list(one.send_all(items)))) for one in once]
    for run in runs:
        run.start()
    for run in runs:
        run.join(PATIENCE)
    assert [deliveries(each) for each in outcomes] == [["accepted"] * 12] * 2
    at = [entry["at_ms"] for entry in service.ledger()]
    assert len(at) == 12 and all(later - earlier >= 950 for earlier, later in zip(at, at[4:])), at
