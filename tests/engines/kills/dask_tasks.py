"""Dask's functions of the check."""

import points
from agentjob.engines.dask import send_message


def ours(once, item):
    key, job_id, prompt = points.message(item)
    points.reach(item, "begin")
    send_message(once, key, job_id, prompt, wait=True, **points.WAIT)
    points.reach(item, "end")


def stock(once, item):
    points.stock(item)


def probe():
    points.probe()
