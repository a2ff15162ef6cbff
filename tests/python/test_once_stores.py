"""What each store of agentjob.once does with a row, statement by statement: one table for all of them, which agentjob.once.Store says in
words."""

import json
import threading

import pytest
from conftest import wait_for

from agentjob.once import StepOutcome, Taker

POLLER = "a wait"
RECORD = "a record"


def take(store, owner="first", message="m", lease=600.0, key="k"):
    step, throttled = store.take(key, "job", message, Taker(owner, lease, "scope", None, None), 10.0)
    assert throttled is None
    return step


def settle(store, state, owner="first", key="k"):
    outcome = StepOutcome(state, None, RECORD, POLLER) if state == "accepted" else StepOutcome(state, "why")
    return store.settle(key, owner, outcome, 10.0)


def get(store, key="k"):
    (step,) = store.get([key], None, 10.0)
    return step


def over(store):
    wait_for(lambda: get(store).state != "sending", "its lease is over")


def accepted(store):
    take(store)
    settle(store, "accepted")


def refused(state):
    def made(store):
        take(store)
        settle(store, state)

    return made


def stale(store):
    take(store, lease=0.05)
    over(store)


def resolved(resolution, state):
    def made(store):
        stale(store)
        store.resolve(get(store), state, resolution)

    return made


def resent(state):
    """It is to be resent, is taken again, and ends so."""

    def made(store):
        resolved("resend", "unknown")(store)
        take(store)
        settle(store, state)

    return made


#: How the row became so, what is done; and then its state, owner, sends, may_have_arrived, and decision.
TAKES = [
    (lambda store: None, ("sending", "second", 1, False, None)),
    (lambda store: take(store, "second"), ("sending", "second", 1, False, None)),
    (take, ("sending", "first", 1, False, None)),
    (stale, ("unknown", "first", 1, False, None)),
    (accepted, ("accepted", "first", 1, False, None)),
    (refused("rejected"), ("sending", "second", 2, False, None)),
    (refused("not_sent"), ("sending", "second", 2, False, None)),
    (refused("unknown"), ("unknown", "first", 1, False, None)),
    (resolved("arrived", "accepted"), ("accepted", None, 1, False, "arrived")),
    (resolved("not_arrived", "not_sent"), ("sending", "second", 2, False, "not_arrived")),
    (resolved("resend", "unknown"), ("sending", "second", 2, True, "resend")),
    (resent("rejected"), ("unknown", "first", 2, True, "resend")),
    (resent("accepted"), ("accepted", "first", 2, False, "resend")),
]
SETTLES = [
    (take, "accepted", ("accepted", "first", 1, False, None)),
    (take, "rejected", ("rejected", "first", 1, False, None)),
    (take, "unknown", ("unknown", "first", 1, False, None)),
    (stale, "accepted", ("accepted", "first", 1, False, None)),
    (stale, "not_sent", ("not_sent", "first", 1, False, None)),
    (refused("unknown"), "accepted", ("accepted", "first", 1, False, None)),
    (accepted, "rejected", ("accepted", "first", 1, False, None)),
    (refused("rejected"), "accepted", ("rejected", "first", 1, False, None)),
    (lambda store: take(store, "second"), "accepted", ("sending", "second", 1, False, None)),
    (resolved("not_arrived", "not_sent"), "accepted", ("not_sent", None, 1, False, "not_arrived")),
    (resolved("resend", "unknown"), "accepted", ("unknown", None, 1, True, "resend")),
]
RESOLVES = [
    (take, "sending", "first", None),
    (stale, "not_sent", None, "not_arrived"),
    (refused("unknown"), "not_sent", None, "not_arrived"),
    (resolved("resend", "unknown"), "not_sent", None, "not_arrived"),
    (resolved("not_arrived", "not_sent"), "not_sent", None, "not_arrived"),
    (resolved("arrived", "accepted"), "accepted", None, "arrived"),
    (refused("not_sent"), "not_sent", "first", None),
    (refused("rejected"), "rejected", "first", None),
    (accepted, "accepted", "first", None),
]


def seen(step):
    return (step.state, step.owner, step.sends, step.may_have_arrived, step.decision)


@pytest.mark.parametrize(("made", "expected"), TAKES)
def test_a_step_is_taken_only_if_its_message_did_not_arrive(store, made, expected):
    made(store)
    step = take(store, "second")
    assert seen(step) == expected and step == get(store)
    if step.owner == "second":
        assert (step.failure, step.record, step.poller, step.result, step.changed_at) == (None,) * 5
        # The response was lost, and the statement is sent again.
        assert take(store, "second") == step


def test_another_message_never_takes_a_step(store):
    refused("not_sent")(store)
    assert seen(take(store, "second", message="another")) == ("not_sent", "first", 1, False, None)


@pytest.mark.parametrize(("made", "state", "expected"), SETTLES)
def test_an_outcome_is_recorded_by_the_call_whose_step_it_is(store, made, state, expected):
    made(store)
    step = settle(store, state)
    assert seen(step) == expected and step == get(store)
    if expected[:2] == (state, "first"):
        assert (step.failure, step.record, step.poller) == ((None, RECORD, POLLER) if state == "accepted" else ("why", None, None))
        assert step.taken_at <= step.changed_at and step.taken_at.endswith("Z")
    # The response was lost, and the statement is sent again.
    assert seen(settle(store, state)) == expected


@pytest.mark.parametrize(("made", "state", "owner", "decision"), RESOLVES)
def test_a_person_decides_only_about_an_unknown_step(store, made, state, owner, decision):
    made(store)
    step = store.resolve(get(store), "not_sent", "not_arrived")
    assert (step.state, step.owner, step.decision) == (state, owner, decision) and step == get(store)
    # The response was lost, and the statement is sent again.
    assert seen(store.resolve(step, "not_sent", "not_arrived")) == seen(step)


@pytest.mark.parametrize("resolution", ["not_arrived", "resend", "arrived"])
def test_a_decision_is_about_the_message_that_was_seen(store, resolution):
    """Its statement is executed late, or again: meanwhile a worker has sent the message, and whether that arrived is unknown."""
    resolved("not_arrived", "not_sent")(store)
    before = get(store)
    take(store, "second")
    step = settle(store, "unknown", "second")
    assert store.resolve(before, "not_sent", resolution) == step == get(store)


def test_a_step_that_is_not_there(store):
    gone = take(store, key="gone")._replace(key="k")
    assert settle(store, "accepted") is None and store.resolve(gone, "not_sent", "not_arrived") is None
    assert store.get(["k"], None, 10.0) == []


def test_a_result_is_kept_of_the_message_that_was_waited_for(store):
    accepted(store)
    earlier = get(store)
    assert store.finish(earlier._replace(sends=2), "another message's") is None
    assert get(store).result is None
    assert store.finish(earlier, "the result") == "the result"
    # Of two workers that wait, the first counts: it may have sent another message since.
    assert store.finish(earlier, "a later one") == get(store).result == "the result"
    take(store, key="refused")
    assert store.finish(settle(store, "rejected", key="refused"), "a refused message's") is None
    assert get(store, "refused").result is None


def test_a_list_takes_no_rejected_step(store):
    taker = Taker("second", 600.0, "scope", None, None, takes_rejected=False)
    refused("rejected")(store)
    assert store.take("k", "job", "m", taker, 10.0) == (get(store), None) and get(store).state == "rejected"
    for key, state in (("again", "not_sent"), ("resend", "unknown")):
        take(store, key=key)
        settle(store, state, key=key)
    store.resolve(get(store, "resend"), "unknown", "resend")
    for key in ("again", "resend"):
        assert seen(store.take(key, "job", "m", taker, 10.0)[0])[:3] == ("sending", "second", 2)


def test_a_message_that_was_rejected_for_a_reason_that_passes_is_not_sent_but_counts_for_the_rate(store):
    """Unless it may have arrived before."""
    limited = Taker("first", 600.0, "scope", 1, 3600.0)
    store.take("k", "job", "m", limited, 10.0)
    outcome = StepOutcome("rejected", "why", again=True)
    step = store.settle("k", "first", outcome, 10.0)
    assert (step.state, step.failure) == ("not_sent", "why") and store.settle("k", "first", outcome, 10.0) == step
    assert store.take("k", "job", "m", limited, 10.0)[1].reason == "rate"
    take(store, key="resent")
    settle(store, "unknown", key="resent")
    store.resolve(get(store, "resent"), "unknown", "resend")
    take(store, "second", key="resent")
    assert store.settle("resent", "second", outcome, 10.0).state == "unknown"


def test_steps_are_found_by_key_and_by_state_in_the_order_of_the_keys_bytes(store):
    keys = ["b", "B", "a", "é", "Z", 'a "quoted", {key}', "日本", "a\\b", "%", "🙂"]
    for key in keys:
        take(store, key=key)
    for key in ("b", "é"):
        settle(store, "accepted", key=key)
    ordered = sorted(keys, key=str.encode)
    assert [step.key for step in store.get(None, None, 10.0)] == ordered
    assert [step.key for step in store.get([*keys, "none"], None, 10.0)] == ordered
    assert [step.key for step in store.get(None, "accepted", 10.0)] == ["b", "é"]
    assert [step.key for step in store.get(["a", "b"], "sending", 10.0)] == ["a"]
    assert store.get([], None, 10.0) == []
    many = [f"known {n}" for n in range(100_000)]
    assert [step.key for step in store.get([*many, "日本"], None, 10.0)] == ["日本"]


def test_texts_are_kept_as_they_are(store):
    text = json.dumps({"a": "\0\x1f 'quoted' \"é\" 🙂 %s $1 :x \\"}) + " é🙂 $1 :x %s \\ ' \""
    take(store)
    store.settle("k", "first", StepOutcome("accepted", None, text, text), 10.0)
    assert (get(store).record, get(store).poller) == (text, text)


def test_one_of_many_takers_gets_a_new_step(store):
    ready, found = threading.Barrier(8), []

    def worker(n):
        for round in range(10):
            ready.wait(60)
            found.append((round, take(store, f"worker {n}", key=f"round {round}").owner))

    workers = [threading.Thread(target=worker, args=(n,)) for n in range(8)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join(120)
    assert len(found) == 80 and len(set(found)) == 10, set(found)
