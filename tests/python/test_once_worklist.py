"""Which messages of a shared list are sent next, when jobs are polled, and how long a run pauses: without a clock, a store or a service."""

import agentjob
from agentjob._once.pauses import Pauses
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
    return [chain.items[0].key for chain in iter(work.next, None)]


def ended(work):
    return [(outcome["key"], outcome["delivery"]) for outcome in work.ended]


def conflict(retry_after=None):
    return agentjob.ConflictError("busy", {"reason": "busy", "hint": None, "delivery": "rejected", "retry_after": retry_after})


def test_a_list_is_sent_in_its_order():
    work = worklist()
    work.begin([step("3", "accepted"), step("4", "sending")])
    assert taken(work) == list("01256789")
    assert ended(work) == [("3", "accepted")] and work.elsewhere() == ["4"] and work.has_others()


def test_a_worker_that_meets_another_continues_elsewhere_and_comes_round():
    work = worklist()
    work.begin([])
    work.found(work.next(), step("0", "sending"))
    work.continue_from(0.65)
    assert work.ahead() == list("678912345"[:9])
    assert taken(work) == list("678912345")
    work.continue_from(0.999)


def test_what_others_did_is_not_sent():
    work = worklist(30)
    work.begin([])
    ahead = work.ahead()
    work.know(ahead, ahead, [step("1", "accepted"), step("2", "rejected", failure="{}"), step("3", "unknown"), step("4", "sending"), step("5", "not_sent")])
    assert taken(work) == [str(n) for n in range(30) if n not in (1, 2, 3, 4)]
    assert ended(work) == [("1", "accepted"), ("2", "rejected"), ("3", "unknown")]
    # It was removed from the store while another worker was sending it: it is new.
    work.know(["4"], [], [])
    assert taken(work) == ["4"]


def test_the_more_others_did_the_further_ahead_a_worker_looks():
    work = worklist(10_000)
    work.begin([])
    assert len(work.ahead()) == AHEAD[0] == 200
    for size in (400, 800):
        ahead = work.ahead()
        work.know(ahead, ahead, [step(key, "accepted") for key in ahead])
        assert len(work.ahead()) == size
    work.know(work.ahead(), work.ahead(), [])
    assert len(work.ahead()) == 200


def test_looking_again_and_again_costs_no_memory():
    work = worklist(100)
    work.begin([])
    for _ in range(50):
        ahead = work.ahead()
        work.know(ahead, ahead, [step(key, "not_sent") for key in ahead])
    assert len(work._ready) == 100 and len(taken(work)) == 100


def test_messages_to_one_job_are_sent_one_at_a_time():
    work = worklist(6, jobs=2)
    work.begin([])
    assert taken(work) == ["0", "1"]
    first = work.chains[0]
    work.sent(first, step("0", "accepted", "own"), {"id": "job 0"}, None)
    assert ended(work) == [("0", "accepted")] and work.ended[0]["job"] == {"id": "job 0"}
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
    work.finished(chain, {"id": "job 0"}, None)
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
        assert taken(work)[:1] == ["0"]
    assert pauses == [2, 4, 8, 16, 32, 64, 128, 256, 300, 190], "and not beyond max_busy"
    assert ended(work) == [("0", "rejected")] and "(max_busy)" in work.ended[0]["error"].__notes__[0]
    # The next one of its job is sent once, and rejected if the job is still busy.
    assert chain.items[0].key == "2" and work.next() is chain
    assert work.refused(chain, conflict(), 2.0, now + 1) is None and ended(work)[1] == ("2", "rejected")


def test_a_busy_job_gets_its_full_time_again_after_a_message_was_taken():
    work = worklist(2, jobs=1, max_busy=10.0)
    work.begin([])
    chain = work.next()
    assert work.refused(chain, conflict(retry_after=5.0), 2.0, 0.0) == 10.0 and chain.due == 5.0
    work.put_back(chain)
    work.sent(work.next(), step("0", "accepted", "own"), {}, None)
    assert work.refused(work.next(), conflict(), 2.0, 50.0) == 10.0
    assert worklist(1, max_busy=0).refused(worklist(1).chains[0], conflict(), 2.0, 0.0) is None


def test_a_message_behind_an_unknown_one_is_held_but_what_is_known_of_it_is_said():
    work = worklist(6, jobs=1)
    work.begin([step("0", "unknown"), step("2", "accepted"), step("3", "rejected", failure="{}"), step("4", "sending"), step("5", "not_sent")])
    assert ended(work) == [("0", "unknown"), ("1", "not_sent"), ("2", "accepted"), ("3", "rejected"), ("4", "unknown"), ("5", "not_sent")]
    assert all(outcome["earlier"] for outcome in work.ended) and work.open == work.left == 0


def test_the_first_pause_after_a_service_failure_is_a_second_and_each_is_twice_as_long():
    pauses, now, seen = Pauses(3600.0), 100.0, []
    for _ in range(12):
        assert pauses.failed(now, 0.5) is None
        # Other messages that were in flight report the same failure.
        assert pauses.failed(now + 0.1, 0.5) is None
        seen.append(pauses.until - now)
        now = pauses.until
    assert seen == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]
    assert pauses.responded() and not pauses.responded()
    pauses.failed(now, 1.0)
    assert round(pauses.until - now, 6) == 1.1, "after a response it begins again"


def test_after_a_pause_one_message_goes_first_alone():
    pauses = Pauses(3600.0)
    assert pauses.next(5.0, 3) is None
    pauses.pause(10.0)
    pauses.pause(8.0)
    assert (pauses.next(5.0, 3), pauses.next(10.0, 1), pauses.next(10.0, 0)) == (5.0, 0.0, None)
    assert pauses.responded() and pauses.next(10.0, 1) is None


def test_an_outage_lasts_from_its_first_failure():
    pauses = Pauses(60.0)
    assert [pauses.failed(now, 0.5) for now in (100.0, 120.0, 159.0, 161.0)] == [None, None, None, 61.0]
    pauses.responded()
    assert pauses.failed(500.0, 0.5) is None
