"""Celery's tasks of the check."""

import os

import points
from agentjob import Client
from agentjob.engines.celery import AgentJobTask
from celery import Celery

app = Celery("kills", broker=os.environ["KILLS_BROKER"], backend=os.environ["KILLS_BROKER"])
app.conf.update(
    broker_transport_options={"visibility_timeout": 60},
    worker_prefetch_multiplier=1,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_default_retry_delay=1,
    broker_connection_retry_on_startup=True,
)


class Step(AgentJobTask):
    store = points.store()

    def make_client(self):
        return Client(timeout=5, allow_plaintext=True)


@app.task(base=Step, bind=True)
def ours(self, item):
    key, job_id, prompt = points.message(item)
    points.reach(item, "begin")
    self.send_message(job_id, prompt, key=key, wait=True, **points.WAIT)
    points.reach(item, "end")


@app.task(autoretry_for=(Exception,), max_retries=20)
def stock(item):
    points.stock(item)


@app.task
def probe():
    points.probe()
