"""Airflow's tasks of the check: one run of a DAG for each message."""

import pendulum
import points
from airflow.sdk import dag, task

import agentjob.engines.airflow as engine
from agentjob.once import Once

DAG = {"schedule": None, "start_date": pendulum.datetime(2026, 1, 1), "catchup": False, "max_active_runs": 1000, "max_active_tasks": 1000}
RETRIES = {"retries": 20, "retry_delay": pendulum.duration(seconds=1)}
ITEM = "{{ dag_run.conf['item'] }}"


def watch():
    """The operator's steps say where they are."""
    engine.Once = lambda client, store, rate: Once(client, points.store(), rate=rate)


class WatchedMessage(engine.AgentJobMessage):
    """The operator, which says where it is."""

    def execute(self, context, event=None):
        watch()
        points.reach(points.number(self.key), "begin")
        return super().execute(context, event)

    def execute_complete(self, context, event):
        watch()
        job = super().execute_complete(context, event)
        points.reach(points.number(self.key), "end")
        return job


@dag(**DAG)
def ours():
    message = {"job_id": f"job_{ITEM}", "prompt": f"Work on {ITEM}", "key": f"item {ITEM}"}
    WatchedMessage(task_id="message", wait_options=points.WAIT, **message, **RETRIES)


@dag(**DAG)
def stock():
    @task(**RETRIES)
    def message(dag_run):
        points.stock(dag_run.conf["item"])

    message()


@dag(**DAG)
def probe():
    @task
    def count():
        points.probe()

    count()


ours()
stock()
probe()
