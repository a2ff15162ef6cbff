"""Many jobs watched at once: processor time a poll, memory a job, and how late their end is noticed."""

import contextlib
import json
import pathlib
import statistics
import subprocess
import sys
import urllib.request

import figures
from service import fixed

TITLE = "Waits"
WAITER = pathlib.Path(__file__).parents[1] / "waiter.py"
#: name: the waiter's function
WAITERS = {"agentjob asyncio": "agentjob_aio", "agentjob Poller": "poller", "aiohttp": "aiohttp", "httpx": "httpx"}
JOBS = [1, 100, 1000, 10_000]
#: So many at once do not disturb each other, and all waiters run at the same time.
FEW = 100
WORK, SPREAD = 5, 2
AT_MOST = 120


def run(setting):
    found = {jobs: {name: [] for name in waiters(setting)} for jobs in JOBS[: setting.count(4, 3)]}
    for jobs, results in found.items():
        for number in range(setting.count(3 if jobs <= FEW else 2, 1)):
            names = list(results)[number:] + list(results)[:number]
            for together in [names] if jobs <= FEW else [[name] for name in names]:
                for name, result in watched(setting, together, jobs).items():
                    results[name].append(result)

    def points(figure):
        return {
            f"{jobs:,}": {name: [figure(run) for run in runs] for name, runs in results.items() if runs}
            for jobs, results in found.items()
        }

    about = (
        f"Jobs that end {WORK} s after the start and later, evenly over {SPREAD} s, watched by one process with the "
        f"library's default schedule (a poll at once, then every 2 s; the peers' loops have the same). Up to {FEW} "
        "jobs, all entrants watch at the same time, each with its own fixed-response service; with more jobs they take "
        "turns. httpx and aiohttp have 100 connections; agentjob's asyncio face at most 32, its Poller one. Lateness of "
        "one run is the median over its jobs; without load, expect about half the pause."
    )
    memory_about = (
        "Peak resident memory above that of the warm client, divided by the number of jobs; with one job it is what the "
        "first wait loads."
    )
    return [
        watching("Processor time a poll", "µs", points(lambda run: run["processor"] / run["polls"] * 1e6), about),
        watching("Memory a job", "KiB", points(lambda run: run["memory"] / run["jobs"] / 1024), memory_about),
        watching("Lateness of the result: median job", "s", points(lambda run: statistics.median(run["late"]))),
        watching("Lateness of the result: the last job", "s", points(lambda run: run["late"][-1])),
    ]


def watching(title, unit, points, about=""):
    return figures.series(title, unit, "jobs", points, about=about, named="httpx")


def waiters(setting):
    """The waiters whose library is there."""
    known = {"agentjob asyncio": "agentjob Python", "agentjob Poller": "agentjob Python"}
    return [name for name in WAITERS if known.get(name, name) in setting.lineup.commands]


def watched(setting, names, jobs):
    """One run of each of the names, all at once."""
    with contextlib.ExitStack() as stack:
        running = {}
        for name in names:
            arguments = stack.enter_context(fixed(setting.fixed))
            command = [setting.lineup.python, str(WAITER), WAITERS[name], *arguments, str(jobs), str(WORK), str(SPREAD)]
            running[name] = arguments[0], subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        results = {}
        for name, (url, process) in running.items():
            try:
                out, _ = process.communicate(timeout=AT_MOST)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                print(f"SKIPPED: {name} with {jobs} jobs: not done in {AT_MOST} s", file=sys.stderr, flush=True)
                continue
            if process.returncode != 0:
                sys.exit(f"{name} ended with {process.returncode}")
            with urllib.request.urlopen(url + "/requests") as response:
                polls = int(response.read())
            results[name] = {**json.loads(out), "polls": polls, "jobs": jobs}
    return results
