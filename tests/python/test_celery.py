"""Celery's tasks that send messages, in a worker with one slot."""

import collections
import logging

import pytest
from conftest import PATIENCE, QUICK, wait_for
from steps import LOST, POST, prompts, settings

import agentjob
from agentjob.once import Once, SQLiteStore

celery = pytest.importorskip("celery", reason="celery is not installed")
worker = pytest.importorskip("celery.contrib.testing.worker")

#: The headers of the task's message, and when it expires, each time that it ran.
RUNS = []


@pytest.fixture(scope="module")
def sent_by_worker():
    """A task that sends a message, and a worker that runs one at a time. Starting and stopping one takes seconds, so the tests share it."""
    from agentjob.engines.celery import AgentJobTask

    app = celery.Celery("tests", broker="memory://", backend="cache+memory://", set_as_current=False)
    # Python's own logging is the tests'.
    app.conf.update(worker_hijack_root_logger=False, broker_connection_retry_on_startup=False, worker_prefetch_multiplier=1)

    class Quick(AgentJobTask):
        environment = {}

        def make_client(self):
            return agentjob.Client(**self.environment, max_retries=0, settle=1.0, **QUICK)

    @app.task(base=Quick, bind=True, shared=False, name="send")
    def send(self, job_id, prompt, **options):
        RUNS.append((self.request.headers, self.request.expires))
        return self.send_message(job_id, prompt, **options)

    @app.task(base=Quick, bind=True, shared=False, name="send two")
    def send_two(self, key=None):
        # Its settings are those of the other task, which the tests set.
        vars(self).update({name: vars(send).get(name) for name in ("store", "environment")}, once=send.once)
        return [self.send_message(job_id, prompt, key=key or job_id, wait=True) for job_id, prompt in (("job_a", "p"), ("job_b", "q"))]

    with worker.start_worker(app, pool="threads", concurrency=1, perform_ping_check=False, loglevel=logging.CRITICAL):
        yield send


@pytest.fixture
def task(sent_by_worker, emulator, database):
    task = sent_by_worker
    task.store, task.max_failures, task.environment = str(database), 20, settings(emulator)
    task.rate = None
    for name in ("once", "apply_async"):
        vars(task).pop(name, None)
    RUNS.clear()
    yield task
    task.app.control.purge()


def result(sent):
    return sent.get(timeout=PATIENCE)


def test_a_task_that_runs_again_sends_nothing_and_returns_the_same(emulator, task):
    for _ in range(2):
        sent = task.apply_async(("job_demo", "p"), task_id="night")
        assert result(sent)["id"] == "job_demo"
        sent.forget()
    assert prompts(emulator) == ["p"]


def test_a_send_costs_three_statements_and_each_poll_two(emulator, task, database):
    def counted(name):
        def call(self, *arguments):
            statements[name] += 1
            return getattr(SQLiteStore, name)(self, *arguments)

        return call

    statements = collections.Counter()
    task.store = type("Counting", (SQLiteStore,), {name: counted(name) for name in ("take", "get", "settle", "finish")})(database)
    result(task.delay("job_demo", "p", wait=True))
    assert statements == {"take": len(RUNS), "get": len(RUNS), "settle": 1, "finish": 1}


def test_a_key_of_the_caller_s_names_the_message_instead_of_the_task_s_id(emulator, task):
    for _ in range(2):
        assert result(task.delay("job_demo", "p", key="night"))["id"] == "job_demo"
    assert prompts(emulator) == ["p"]


def test_while_a_job_works_its_task_holds_no_slot(emulator, task):
    emulator.reset(jobs=[{"id": "long"}, {"id": "job_demo"}], work_ms=600_000)
    long = task.delay("long", "first", wait=True)
    assert result(task.delay("job_demo", "second"))["status"] == "active"
    assert not long.ready(), "the only slot is free although its job works"
    assert prompts(emulator) == ["first", "second"]
    emulator.reset(jobs=[{"id": "long", "status": "completed"}])
    assert result(long)["status"] == "completed"


def test_a_result_is_recorded_in_the_store(emulator, client, database, task):
    job = result(task.delay("job_demo", "p", key="night", wait=True))
    emulator.reset(jobs=[])
    assert Once(client, database).wait("night")["status"] == job["status"] == "completed"


@pytest.mark.parametrize("status", [408, 409])
def test_what_certainly_did_not_arrive_is_sent_again(emulator, task, status):
    emulator.reset(rules=[{**POST, "nth": nth, "status": status} for nth in (1, 2)])
    assert result(task.delay("job_demo", "p", wait=True))["status"] == "completed"
    assert prompts(emulator) == ["p"]


def test_a_rate_limit_is_waited_for_and_is_no_failure(emulator, task):
    emulator.reset(rules=[{**POST, "nth": nth, "status": 429, "headers": {"Retry-After": "1"}} for nth in (1, 2)])
    task.max_failures = 0
    assert result(task.delay("job_demo", "p"))["id"] == "job_demo"
    assert prompts(emulator) == ["p"]


def test_what_may_have_arrived_is_raised_and_never_sent_again(emulator, task):
    emulator.reset(rules=[LOST])
    for _ in range(2):
        with pytest.raises(agentjob.ConnectionLostError, match="resolve the step") as caught:
            result(task.delay("job_demo", "p", key="night"))
        assert caught.value.delivery == "unknown"
    assert prompts(emulator) == ["p"]


def test_a_message_that_is_rejected_for_good_is_raised_at_once(emulator, task):
    emulator.reset(rules=[{**POST, "status": 422}])
    with pytest.raises(agentjob.BadRequestError) as caught:
        result(task.delay("job_demo", "p"))
    assert caught.value.delivery == "rejected"


def test_after_too_many_failures_in_a_row_the_last_one_is_raised(emulator, task):
    emulator.reset(rules=[{**POST, "nth": nth, "status": 409} for nth in range(1, 9)])
    task.max_failures = 2
    with pytest.raises(agentjob.ConflictError):
        result(task.delay("job_demo", "p"))
    assert emulator.requests()["total"] == 3


def test_a_wait_that_times_out_is_raised_though_each_poll_is_a_task_of_its_own(emulator, task):
    emulator.reset(jobs=[{"id": "job_demo"}], work_ms=600_000)
    with pytest.raises(agentjob.WaitTimeoutError):
        result(task.delay("job_demo", "p", wait=True, timeout=1.0))
    assert prompts(emulator) == ["p"]


def test_a_job_that_failed_is_raised_if_that_is_asked_for(emulator, task):
    emulator.reset(outcome="failed")
    with pytest.raises(agentjob.JobFailedError):
        result(task.delay("job_demo", "p", wait=True, check=True))


@pytest.mark.parametrize(
    ("options", "error"), [({"timeout": -1}, agentjob.InvalidArgumentError), ({"lateness": "x"}, TypeError), ({"tiemout": 3}, TypeError), ({"check": 1}, TypeError)]
)
def test_wrong_options_are_refused_before_anything_is_sent(emulator, task, options, error):
    with pytest.raises(error, match=next(iter(options))):
        result(task.delay("job_demo", "p", wait=True, **options))
    assert emulator.requests()["total"] == 0


def test_a_task_without_a_store_says_how_to_give_it_one(emulator, task):
    task.store = None
    with pytest.raises(agentjob.InvalidArgumentError, match="task 'send' has no store. Give it one") as caught:
        task.apply(("job_demo", "p")).get()
    assert caught.value.delivery == "not_sent" and emulator.requests()["total"] == 0


def test_a_task_may_send_several_messages_each_under_a_key_of_its_own(emulator, task):
    emulator.reset(jobs=[{"id": "job_a"}, {"id": "job_b"}], work_ms=600)
    jobs = result(task.app.tasks["send two"].delay())
    assert [job["id"] for job in jobs] == ["job_a", "job_b"] and {job["status"] for job in jobs} == {"completed"}
    assert prompts(emulator) == ["p", "q"]
    with pytest.raises(agentjob.InvalidArgumentError, match="is another message"):
        result(task.app.tasks["send two"].delay(key="one for both"))


def test_a_step_that_is_finished_returns_its_result_whatever_its_job_does_now(emulator, task):
    first = result(task.delay("job_demo", "p", key="night", wait=True))
    emulator.reset(jobs=[{"id": "job_demo", "status": "active"}])
    assert result(task.delay("job_demo", "p", key="night", wait=True))["prLink"] == first["prLink"]
    assert emulator.requests()["total"] == 0


def test_a_message_that_was_accepted_does_not_expire(emulator, task):
    result(task.apply_async(("job_demo", "p"), {"wait": True}, expires=600))
    (_, first), *others = RUNS
    assert first is not None and {expires for _, expires in others} == {None}


def test_a_task_whose_broker_does_not_take_its_next_poll_is_not_lost(emulator, task):
    emulator.reset(work_ms=600_000)
    sent, refusals = task.delay("job_demo", "p", wait=True), []

    def refuse(*_, **__):
        refusals.append(vars(task).pop("apply_async"))
        raise ConnectionError("the broker is away")

    task.apply_async = refuse
    wait_for(lambda: refusals, "the broker has refused the next poll")
    assert prompts(emulator) == ["p"]
    emulator.reset()
    assert result(sent)["status"] == "completed" and prompts(emulator) == []


def test_headers_of_the_caller_are_kept_and_those_of_a_broker_are_not(emulator, task):
    result(task.apply_async(("job_demo", "p"), {"wait": True}, headers={"x-tenant": "t", "x-death": [{"count": 1}]}))
    first, *others = [headers for headers, _ in RUNS]
    assert "x-death" in first and len(others) > 0
    assert all(headers["x-tenant"] == "t" and "x-death" not in headers for headers in others)


@pytest.mark.parametrize("store", ["steps.db", SQLiteStore("steps.db")])
def test_a_relative_path_is_refused_because_it_is_another_file_in_each_worker(emulator, task, store):
    task.store = store
    with pytest.raises(agentjob.InvalidArgumentError, match="steps.db' was given as a relative path. Give an absolute one"):
        result(task.delay("job_demo", "p"))
    assert emulator.requests()["total"] == 0


def test_headers_go_with_the_message_and_with_each_poll(emulator, task):
    result(task.delay("job_demo", "p", wait=True, headers={"x-tenant": "t"}))
    assert {dict(request["headers"]).get("x-tenant") for request in emulator.requests()["requests"]} == {"t"}


def test_a_rate_holds_over_all_tasks(emulator, task):
    task.rate = "1/h"
    result(task.delay("job_demo", "p"))
    second = task.delay("job_demo", "q")
    wait_for(lambda: second.state == "RETRY", "the second task is retried")
    assert prompts(emulator) == ["p"]
    second.revoke()


def test_an_empty_key_is_refused_instead_of_replaced(emulator, task):
    with pytest.raises(agentjob.InvalidArgumentError, match="key is empty"):
        result(task.delay("job_demo", "p", key=""))
    assert emulator.requests()["total"] == 0


def test_celerys_own_retries_are_refused_because_they_also_repeat_what_is_raised_for_good():
    from agentjob.engines.celery import AgentJobTask

    app = celery.Celery("refused", set_as_current=False)

    @app.task(base=AgentJobTask, bind=True, shared=False, name="night", autoretry_for=(Exception,))
    def night(self):
        """It is never run."""

    with pytest.raises(agentjob.InvalidArgumentError, match="task 'night' has autoretry_for. Leave it out"):
        app.finalize()


def test_a_long_key_fits_into_the_header_of_every_broker(emulator, task):
    amqp = pytest.importorskip("amqp.serialization")
    assert result(task.delay("job_demo", "p", key="k" * 1024, wait=True))["status"] == "completed"
    for headers, _ in RUNS[1:]:
        amqp.dumps("F", [{"agentjob": headers["agentjob"]}])


def test_a_task_that_cannot_be_published_for_good_fails(emulator, task):
    emulator.reset(work_ms=600_000)
    sent, refusals = task.delay("job_demo", "p", wait=True), []

    def refuse(*_, **__):
        refusals.append(1)
        raise ValueError("the message can't be encoded")

    task.apply_async = refuse
    with pytest.raises(ValueError, match="can't be encoded"):
        result(sent)
    assert refusals == [1]


def test_a_message_that_was_accepted_does_not_expire_though_the_store_fails_then(emulator, task, database):
    class Failing(SQLiteStore):
        def get(self, *arguments):
            if not failures:
                failures.append(1)
                raise agentjob.StoreError("the disk is away")
            return super().get(*arguments)

    failures, task.store = [], Failing(database)
    result(task.apply_async(("job_demo", "p"), {"wait": True}, expires=600))
    assert failures and {expires for _, expires in RUNS[1:]} == {None}


def test_a_task_that_runs_eagerly_or_is_called_waits_itself(emulator, task):
    assert task.apply(("job_demo", "p"), {"wait": True}).get()["status"] == "completed"
    with pytest.raises(agentjob.InvalidArgumentError, match="key is missing"):
        task("job_demo", "q")
    assert task("job_demo", "q", key="k", wait=True)["status"] == "completed"
    emulator.reset(rules=[{**POST, "status": 429}])
    with pytest.raises(agentjob.RateLimitError):
        task.apply(("job_demo", "r")).get()
    assert prompts(emulator) == []
