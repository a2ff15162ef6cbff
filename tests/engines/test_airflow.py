"""Airflow's operator: as a task of a DAG, and its calls one by one, as Airflow's worker and triggerer make them."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import time

import pytest
from conftest import LOST, POST

pytest.importorskip("airflow", reason="Airflow is not installed")

try:
    from airflow.sdk.exceptions import AirflowFailException, TaskDeferred
except ImportError:  # before Airflow 3.3
    from airflow.exceptions import AirflowFailException, TaskDeferred

import agentjob  # noqa: E402
from agentjob.engines.airflow import AgentJobHook, AgentJobMessage, AgentJobTrigger  # noqa: E402
from agentjob.once import Once, Taker  # noqa: E402

QUICK = {"min_interval": 0.05, "max_interval": 0.05, "settle": 1.0}


@pytest.fixture
def connection(emulator, database, monkeypatch):
    """Sets the connection, with these additions to its extra."""

    def connect(**extra):
        extra = {"project_id": emulator.project_id, "store": database, "max_retries": 0, **QUICK, **extra}
        connection = {"conn_type": "agentjob", "host": emulator.base_url, "password": emulator.api_key, "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_AGENTJOB_DEFAULT", json.dumps(connection))

    connect()
    return connect


def operator(**options):
    return AgentJobMessage(**{"task_id": "tests", "job_id": "job_demo", "prompt": "p", "key": "k", **options})


def run(task):
    """What the task returns, which is deferred as often as it wants to be; how often it was; and what its triggers carried."""
    carried, call, arguments = [], task.execute, {}
    while True:
        try:
            return call({}, **arguments), carried
        except TaskDeferred as deferred:
            name, stored = deferred.trigger.serialize()
            assert name == "agentjob.engines.airflow.AgentJobTrigger"
            stored = json.loads(json.dumps(stored))
            carried.append(stored)
            call, arguments = getattr(task, deferred.method_name), {**(deferred.kwargs or {}), "event": fired(AgentJobTrigger(**stored))}


def fired(trigger):
    async def event():
        return [event.payload async for event in trigger.run()]

    (payload,) = asyncio.run(event())
    return payload


def test_a_task_is_deferred_while_its_job_works_and_its_trigger_carries_the_wait(connection, emulator, prompts, database):
    job, (carried,) = run(operator())
    assert job["status"] == "completed" and "job_demo" in carried["poller"]
    assert emulator.api_key not in json.dumps(carried)
    assert prompts() == ["p"]
    (step,) = Once(agentjob.Client(base_url=emulator.base_url, api_key="k", project_id="p"), database).steps()
    assert (step["key"], step["job"]["status"]) == ("k", "completed")


def test_a_task_that_runs_again_sends_nothing(connection, prompts):
    with pytest.raises(TaskDeferred):
        operator().execute({})
    assert run(operator())[0]["status"] == run(operator())[0]["status"] == "completed"
    assert prompts() == ["p"]


@pytest.mark.parametrize(("options", "status"), [({"wait": False}, "active"), ({"deferrable": False}, "completed")])
def test_a_task_may_wait_in_its_slot_or_not_at_all(connection, prompts, options, status):
    job, carried = run(operator(**options))
    assert (job["status"], carried, prompts()) == (status, [], ["p"])


def test_what_may_have_arrived_fails_without_a_retry_and_is_never_sent_again(connection, emulator, prompts):
    emulator.reset(rules=[LOST])
    for _ in range(2):
        with pytest.raises(AirflowFailException, match="may have arrived.*resolve the step"):
            operator().execute({})
    assert prompts() == ["p"]


def test_what_is_rejected_for_good_fails_without_a_retry(connection, emulator):
    emulator.reset(rules=[{**POST, "status": 422}])
    with pytest.raises(AirflowFailException, match="422"):
        operator().execute({})


def test_what_passes_is_left_to_the_retries_of_the_task(connection, emulator, prompts):
    emulator.reset(rules=[{**POST, "status": 409}])
    with pytest.raises(agentjob.ConflictError):
        operator().execute({})
    assert run(operator())[0]["status"] == "completed" and prompts() == ["p"]


def test_a_rate_limit_defers_the_task_until_its_end_and_takes_no_retry(connection, emulator, prompts):
    limited = {**POST, "status": 429, "headers": {"Retry-After": "1"}}
    emulator.reset(rules=[limited])
    begin = time.time()
    job, carried = run(operator())
    assert [each["poller"] is None for each in carried] == [True, False]
    assert begin + 1 <= carried[0]["until"] <= time.time() and job["status"] == "completed" and prompts() == ["p"]
    assert fired(AgentJobTrigger(**carried[0])) is None, "another triggerer that starts it later doesn't begin the pause again"
    emulator.reset(rules=[limited])
    with pytest.raises(agentjob.RateLimitError):
        operator(key="other", deferrable=False).execute({})


def test_a_rate_holds_over_all_tasks(connection, prompts):
    connection(rate="1/h")
    run(operator(wait=False))
    with pytest.raises(TaskDeferred) as deferred:
        operator(wait=False, key="other", prompt="q").execute({})
    assert deferred.value.trigger.until > time.time() + 3000 and prompts() == ["p"]


def test_the_worker_records_the_result_at_once_however_long_a_job_may_show_the_previous_one(connection, emulator, prompts):
    connection(settle=600)
    job, _ = run(operator(wait_options={"timeout": 60}))
    assert job["status"] == "completed"


def test_a_job_that_failed_fails_the_task_unless_it_need_not_be_checked(connection, emulator):
    emulator.reset(outcome="failed")
    with pytest.raises(AirflowFailException, match="job_demo failed"):
        run(operator())
    assert run(operator(check=False))[0]["status"] == "failed"


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_wait_that_times_out_is_left_to_the_retries_which_wait_again(connection, emulator, prompts, deferrable):
    emulator.reset(work_ms=600_000)
    options = {"deferrable": deferrable, "wait_options": {"timeout": 0.3}}
    with pytest.raises(agentjob.WaitTimeoutError):
        run(operator(**options))
    emulator.reset()
    assert run(operator(deferrable=deferrable))[0]["status"] == "completed"
    assert prompts() == [], "it was sent before the service was reset"


def test_a_step_that_another_worker_is_sending_takes_no_retry_either(connection, emulator, database):
    once = AgentJobHook().get_conn()
    message = agentjob._native.step_message(once.client, "k", "job_demo", "p")
    once.store.take("k", "job_demo", message, Taker("another", 600.0, *agentjob._native.step_pace(once.client)), 10.0)
    with pytest.raises(TaskDeferred) as deferred:
        operator().execute({})
    assert (deferred.value.trigger.poller, deferred.value.method_name) == (None, "execute")


@pytest.mark.parametrize("deferrable", [True, False])
def test_what_no_poll_helps_against_fails_without_a_retry(connection, emulator, deferrable):
    emulator.reset(rules=[{"method": "GET", "status": 401}])
    with pytest.raises(AirflowFailException, match="401"):
        run(operator(deferrable=deferrable))


def test_a_trigger_that_moves_to_another_triggerer_continues_the_wait(connection, emulator):
    emulator.reset(work_ms=600_000)
    with pytest.raises(TaskDeferred) as deferred:
        operator(wait_options={"timeout": 1.0}).execute({})
    _, stored = deferred.value.trigger.serialize()

    async def stop():
        event = asyncio.ensure_future(anext(AgentJobTrigger(**stored).run()))
        while emulator.requests()["total"] < 2 and not event.done():
            await asyncio.sleep(0.01)
        event.cancel()

    asyncio.run(stop())
    time.sleep(1.0)
    polls = emulator.requests()["total"]
    assert fired(AgentJobTrigger(**stored))["error"][0] == "WaitTimeoutError"
    assert emulator.requests()["total"] == polls + 1, "it had timed out: it made one poll, and began no wait of its own"


def test_the_triggers_of_a_triggerer_share_a_client(connection):
    async def clients():
        return [await AgentJobHook().get_async_client() for _ in range(3)]

    first, *others = asyncio.run(clients())
    assert all(other is first for other in others)


@pytest.mark.parametrize(
    ("options", "error"),
    [({"wait_options": {"timeout": -1}}, AirflowFailException), ({"prompt": ""}, AirflowFailException), ({"key": ""}, AirflowFailException)],
)
def test_wrong_arguments_fail_without_a_retry_before_anything_is_sent(connection, emulator, options, error):
    with pytest.raises(error):
        operator(**options).execute({})
    assert emulator.requests()["total"] == 0


@pytest.mark.parametrize("name", ["wait", "deferrable", "check"])
def test_what_is_neither_true_nor_false_is_refused_when_the_dag_is_read(name):
    with pytest.raises(TypeError, match=f"{name} must be True or False, not str"):
        operator(**{name: "no"})


@pytest.mark.parametrize(
    ("extra", "reason"),
    [({"store": "mysql://host/steps"}, "neither a path nor"), ({"store": "steps.db"}, "was given as a relative path. Give an absolute one"), ({"timeout": "30"}, "timeout"), ({"rate": 100}, "rate"), ({"tiemout": 3}, "tiemout")],
)
def test_a_connection_with_wrong_settings_fails_without_a_retry(connection, emulator, extra, reason):
    connection(**extra)
    with pytest.raises(AirflowFailException, match=reason):
        operator().execute({})
    assert emulator.requests()["total"] == 0


def test_a_task_that_is_cleared_returns_its_result_whatever_its_job_does_now(connection, emulator):
    first, _ = run(operator())
    emulator.reset(jobs=[{"id": "job_demo", "status": "active"}])
    again, carried = run(operator())
    assert (again["prLink"], carried, emulator.requests()["total"]) == (first["prLink"], [], 0)


def test_the_result_is_what_the_trigger_saw_though_the_job_has_another_message_by_then(connection, emulator):
    task = operator()
    with pytest.raises(TaskDeferred) as deferred:
        task.execute({})
    event = fired(deferred.value.trigger)
    emulator.reset(jobs=[{"id": "job_demo", "status": "active"}])
    assert task.execute_complete({}, event)["status"] == "completed" and emulator.requests()["total"] == 0


@pytest.mark.parametrize("name", ["tiemout", "check", "headers"])
def test_options_that_a_wait_does_not_have_are_refused_when_the_dag_is_read(name):
    with pytest.raises(TypeError, match=f"can't have '{name}'.*connection's extra"):
        operator(wait_options={name: 1})


def test_fields_of_a_connection_that_would_be_ignored_are_refused(connection, emulator, monkeypatch):
    monkeypatch.setenv("AIRFLOW_CONN_AGENTJOB_DEFAULT", json.dumps({"conn_type": "agentjob", "host": emulator.base_url, "port": 1}))
    with pytest.raises(AirflowFailException, match="'agentjob_default' has a port. Leave it out"):
        operator().execute({})


def test_a_connection_without_a_store_says_what_to_give(connection):
    connection(store=None)
    with pytest.raises(AirflowFailException, match="'agentjob_default' has no store. Give its extra"):
        operator().execute({})


def test_what_a_connection_does_not_have_is_taken_from_the_environment(connection, emulator, database, monkeypatch):
    for name, value in emulator.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AIRFLOW_CONN_AGENTJOB_DEFAULT", json.dumps({"conn_type": "agentjob", "extra": {"store": database, "max_retries": 0}}))
    client = AgentJobHook().get_conn().client
    assert (client.base_url, client.project_id) == (emulator.base_url, emulator.project_id)


def test_airflow_knows_the_connection_and_runs_the_operator_in_a_dag(connection, emulator, prompts, tmp_path):
    home = tmp_path / "airflow"
    (home / "dags").mkdir(parents=True)
    source = """
        import pendulum
        from airflow.sdk import dag
        from agentjob.engines.airflow import AgentJobMessage

        @dag(schedule=None, start_date=pendulum.datetime(2026, 1, 1), catchup=False)
        def night():
            AgentJobMessage.partial(task_id="tests", job_id="job_demo", retries=0).expand(prompt=["first of {{ dag.dag_id }}", "second"])

        night()
    """
    (home / "dags" / "night.py").write_text(textwrap.dedent(source))
    environment = {**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}

    def airflow(*words):
        command = [pathlib.Path(sys.executable).parent / "airflow", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=True).stdout

    emulator.reset(rules=[{**POST, "status": 429, "headers": {"Retry-After": "1"}}])
    airflow("db", "migrate")
    assert "agentjob.engines.airflow.AgentJobHook" in airflow("providers", "hooks")
    airflow("dags", "reserialize")
    airflow("dags", "test", "night")
    assert prompts() == ["first of night", "second"]
    keys = [step["key"] for step in AgentJobHook().get_conn().steps()]
    assert [(key.split("/")[0], *key.split("/")[2:]) for key in keys] == [("night", "tests", "0"), ("night", "tests", "1")]
