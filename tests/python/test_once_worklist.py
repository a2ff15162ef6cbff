"""Which messages of a shared list are sent next, and when their jobs are polled: without a clock, a store or a service."""

import agentjob
from agentjob._once.store import Step
from agentjob._once.worklist import AHEAD, Worklist


def step(key, state, owner="another", **more):
    at = int(key)
    known = dict.fromkeys(Step._fields)
    return Step(**{**known, "key": key, "job_id": f"job {at}", "message": "digest", "state": state, "sends": 1, "may_have_arrived": False, "owner": owner, **more})


def worklist(count=10, jobs=None, waits=False, max_busy=100.0):
    given = [(str(n), f"job {n % (jobs or count)}", "p", None, None, "digest") for n in range(count)]
    return Worklist(given, waits, max_busy)


def taken(work):
    """The messages that are sent next, one after the other."""
    keys = []
    while work.has_ready():
        keys.append(work.next().items[0].key)
    return keys


def ended(work):
    return [(outcome["key"], outcome["delivery"]) for outcome in work.outcomes]


def conflict(retry_after=None):
    return agentjob.ConflictError("busy", {"reason": "busy", "hint": None, "delivery": "rejected", "retry_after": retry_after})


def test_a_list_is_sent_in_its_order():
    work = worklist()
    work.begin([step("3", "accepted"), step("4", "sending")])
    assert taken(work) == list("01256789")
    assert ended(work) == [("3", "accepted")] and work.check().elsewhere == ["4"] and work.has_others


def test_a_worker_that_meets_another_continues_elsewhere_and_comes_round():
    work = worklist()
    work.begin([])
    work.found(work.next(), step("0", "sending"))
    work.continue_from(0.65)
    assert work.check().ahead == taken(work) == list("678912345")


def test_what_others_did_is_not_sent():
    work = worklist(30)
    work.begin([])
    work.update(work.check(), [step("1", "accepted"), step("2", "rejected", failure="{}"), step("3", "unknown"), step("4", "sending"), step("5", "not_sent")])
    assert taken(work) == [str(n) for n in range(30) if n not in (1, 2, 3, 4)]
    assert ended(work) == [("1", "accepted"), ("2", "rejected"), ("3", "unknown")]
    # It was removed from the store while another worker was sending it: it is new.
    work.update(work.check(), [])
    assert taken(work) == ["4"]


def test_the_more_others_did_the_further_ahead_a_worker_checks():
    work = worklist(10_000)
    work.begin([])
    assert len(work.check().ahead) == AHEAD[0] == 200
    for size in (400, 800):
        check = work.check()
        work.update(check, [step(key, "accepted") for key in check.ahead])
        assert len(work.check().ahead) == size
    work.update(work.check(), [])
    assert len(work.check().ahead) == 200


def test_checking_again_and_again_costs_no_memory():
    """Also if a step becomes another worker's and free again."""
    work = worklist(100)
    work.begin([])
    for _ in range(20):
        for state in ("not_sent", "sending", "not_sent"):
            check = work.check()
            work.update(check, [step(key, state) for key in check.elsewhere + check.ahead])
    assert len(work._ready) == 100 and taken(work) == [str(n) for n in range(100)] and work._ready == []


def test_what_the_store_said_before_a_thread_took_the_message_is_old():
    """Otherwise its own message would be another worker's, of which no outcome comes."""
    work = worklist(2, waits=True)
    work.begin([])
    check = work.check()
    chain = work.next()
    work.sent(chain, step("0", "accepted", "own"), {}, None)
    work.update(check, [step("0", "sending", "own")])
    assert (chain.state, work.has_others) == ("working", False)
    work.found(work.next(), step("1", "sending"))
    assert work.has_others


def test_a_chain_whose_first_message_others_sent_keeps_the_order_of_the_list():
    work = worklist(6, jobs=3)
    work.begin([])
    work.update(work.check(), [step("0", "accepted")])
    assert taken(work) == ["1", "2", "3"]


def test_messages_to_one_job_are_sent_one_at_a_time():
    work = worklist(6, jobs=2)
    work.begin([])
    assert taken(work) == ["0", "1"]
    work.sent(work.chains[0], step("0", "accepted", "own"), {"id": "job 0"}, None)
    assert ended(work) == [("0", "accepted")] and work.outcomes[0]["job"] == {"id": "job 0"}
    assert taken(work) == ["2"]


def test_jobs_are_polled_when_they_are_due():
    work = worklist(3, waits=True)
    work.begin([step("0", "accepted"), step("1", "accepted", result='{"id":"job 1","status":"completed"}')])
    assert ended(work) == [("1", "accepted")]
    chain, state, pause = work.next_due(0.0)
    assert (chain.items[0].key, state, pause) == ("0", "working", 0.0)
    assert work.next_due(1.0)[0] is None, "it is polled"
    work.wait(chain, "working", 5.0)
    assert work.next_due(2.0) == (None, "", 3.0)
    work.wait(chain, "working", 9.0)
    assert work.next_due(6.0) == (None, "", 3.0), "the later time counts"
    assert work.next_due(9.0)[0] is chain
    work.ended(chain, "accepted", {"id": "job 0"}, None)
    assert work.next_due(99.0)[0] is None and work.left == 1


def test_a_busy_job_is_polled_later_each_time_until_max_busy_is_over():
    work = worklist(4, jobs=2, max_busy=1000.0)
    work.begin([])
    chain = work.next()
    pauses, now = [], 0.0
    while work.refused(chain, conflict(), 2.0, now) is not None:
        pauses.append(chain.due - now)
        now = chain.due
        work.put_back(chain)
        assert work.next() is chain
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 190], "and not beyond max_busy"
    assert ended(work) == [("0", "rejected")] and "(max_busy)" in work.outcomes[0]["error"].__notes__[0]
    # The next one of its job is sent once, and rejected if the job is still busy.
    assert not any(outcome["earlier"] for outcome in work.outcomes)
    assert chain.items[0].key == "2" and taken(work) == ["1", "2"]
    assert work.refused(chain, conflict(), 2.0, now + 1) is None and ended(work)[1] == ("2", "rejected")


def test_a_busy_job_gets_its_full_time_again_after_a_message_was_taken():
    work = worklist(2, jobs=1, max_busy=10.0)
    work.begin([])
    chain = work.next()
    assert work.refused(chain, conflict(retry_after=5.0), 2.0, 0.0) == 10.0 and chain.due == 5.0
    work.put_back(chain)
    work.sent(work.next(), step("0", "accepted", "own"), {}, None)
    assert work.refused(work.next(), conflict(), 2.0, 50.0) == 10.0


def test_a_busy_job_gets_its_full_time_again_after_another_worker_sent_to_it():
    work = worklist(2, jobs=1, max_busy=10.0)
    work.begin([])
    work.refused(work.next(), conflict(), 2.0, 0.0)
    work.put_back(work.chains[0])
    work.found(work.next(), step("0", "accepted"))
    assert work.refused(work.next(), conflict(), 2.0, 50.0) == 10.0


def test_without_max_busy_a_message_is_rejected_at_once():
    work = worklist(1, max_busy=0.0)
    work.begin([])
    error = conflict()
    assert work.refused(work.next(), error, 2.0, 0.0) is None
    assert ended(work) == [("0", "rejected")] and not hasattr(error, "__notes__")


STATES = [("1", "not_sent"), ("2", "accepted"), ("3", "rejected"), ("4", "unknown"), ("5", "not_sent")]


def test_a_message_behind_an_unknown_one_is_held_but_what_is_known_of_it_is_said():
    work = worklist(6, jobs=1)
    work.begin([step("0", "unknown"), step("2", "accepted"), step("3", "rejected", failure="{}"), step("4", "sending"), step("5", "not_sent")])
    assert ended(work) == [("0", "unknown"), *STATES]
    assert [outcome["key"] for outcome in work.outcomes if outcome["earlier"]] == ["0", "2", "3"] and work.open == work.left == 0
    assert "it is held: step" in str(work.outcomes[4]["error"]) and "was not sent: step" in str(work.outcomes[5]["error"])


def test_before_messages_are_held_the_store_is_asked_for_them():
    """Others may have sent them meanwhile."""
    work = worklist(6, jobs=1, waits=True)
    work.begin([])
    chain = work.next()
    work.sent(chain, step("0", "accepted", "own"), {}, None)
    work.ended(work.next_due(0.0)[0], "accepted", None, agentjob.WaitTimeoutError("no result"))
    assert work.next_held() is chain and work.next_held() is None
    work.end_held(chain, [step("2", "accepted"), step("3", "rejected", failure="{}"), step("4", "sending"), step("5", "not_sent")])
    assert ended(work) == [("0", "accepted"), *STATES] and work.open == work.left == 0


def test_the_last_message_that_was_sent_has_the_result_wherever_it_is_in_the_list():
    """The first one was rejected because its job was busy for too long, and is sent after the second."""
    work = worklist(3, jobs=1, waits=True)
    work.begin([step("0", "accepted", taken_at="2026-11-27T12:00:02.000Z"), step("1", "accepted", taken_at="2026-11-27T12:00:01.000Z")])
    chain, state, _ = work.next_due(0.0)
    assert (chain.items[0].key, state) == ("0", "working")
    work.ended(chain, "accepted", {"id": "job 0"}, None)
    assert [(outcome["key"], outcome["job"]) for outcome in work.outcomes] == [("0", {"id": "job 0"}), ("1", None)]
