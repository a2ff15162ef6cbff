"""Airflow's operator: as a task of a DAG, and its calls one by one, as Airflow's worker and triggerer make them."""

import asyncio
import json
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from conftest import LOST, POST

pytest.importorskip("airflow", reason="Airflow is not installed")

from airflow.sdk.exceptions import AirflowFailException, TaskDeferred  # noqa: E402

import agentjob  # noqa: E402
from agentjob.engines.airflow import AgentJobHook, AgentJobMessage, AgentJobTrigger  # noqa: E402
from agentjob.once import Once  # noqa: E402

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


def test_a_rate_limit_defers_the_task_for_its_time_and_takes_no_retry(connection, emulator, prompts):
    emulator.reset(rules=[{**POST, "status": 429, "headers": {"Retry-After": "1"}}])
    job, carried = run(operator())
    assert [(each["poller"] is None, round(each["seconds"])) for each in carried] == [(True, 1), (False, 0)]
    assert job["status"] == "completed" and prompts() == ["p"]
    emulator.reset(rules=[{**POST, "status": 429, "headers": {"Retry-After": "1"}}])
    with pytest.raises(agentjob.RateLimitError):
        operator(key="other", deferrable=False).execute({})


def test_a_job_that_failed_fails_the_task_unless_it_need_not_be_checked(connection, emulator):
    emulator.reset(outcome="failed")
    with pytest.raises(AirflowFailException, match="job_demo failed"):
        run(operator())
    assert run(operator(check=False))[0]["status"] == "failed"


def test_a_wait_that_times_out_fails_the_task_and_a_retry_waits_again(connection, emulator, prompts):
    emulator.reset(work_ms=600_000)
    with pytest.raises(RuntimeError, match="timed out"):
        run(operator(wait_options={"timeout": 0.3}))
    with pytest.raises(TaskDeferred):
        operator(wait_options={"timeout": 0.3}).execute({})
    assert prompts() == ["p"]


def test_a_trigger_that_moves_to_another_triggerer_continues_the_wait(connection, emulator):
    emulator.reset(work_ms=600_000)
    with pytest.raises(TaskDeferred) as deferred:
        operator().execute({})

    async def stop(trigger):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(trigger.run()), 0.3)

    asyncio.run(stop(deferred.value.trigger))
    emulator.reset()
    assert fired(AgentJobTrigger(**deferred.value.trigger.serialize()[1])) is None


@pytest.mark.parametrize(
    ("options", "error"),
    [({"wait_options": {"timeout": -1}}, AirflowFailException), ({"wait_options": {"tiemout": 1}}, TypeError), ({"prompt": ""}, AirflowFailException)],
)
def test_wrong_arguments_fail_without_a_retry_before_anything_is_sent(connection, emulator, options, error):
    with pytest.raises(error):
        operator(**options).execute({})
    assert emulator.requests()["total"] == 0


def test_headers_of_a_wait_are_refused_because_triggers_are_stored(connection):
    with pytest.raises(TypeError, match="connection's extra"):
        operator(wait_options={"headers": {"x-tenant": "t"}})


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
            AgentJobMessage.partial(task_id="tests", job_id="job_demo").expand(prompt=["first of {{ dag.dag_id }}", "second"])

        night()
    """
    (home / "dags" / "night.py").write_text(textwrap.dedent(source))
    environment = {**os.environ, "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}

    def airflow(*words):
        command = [pathlib.Path(sys.executable).parent / "airflow", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=True).stdout

    airflow("db", "migrate")
    assert "agentjob.engines.airflow.AgentJobHook" in airflow("providers", "hooks")
    airflow("dags", "reserialize")
    airflow("dags", "test", "night")
    assert prompts() == ["first of night", "second"]
    keys = [step["key"] for step in AgentJobHook().get_conn().steps()]
    assert [(key.split("/")[0], *key.split("/")[2:]) for key in keys] == [("night", "tests", "0"), ("night", "tests", "1")]
