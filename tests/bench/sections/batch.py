"""Batches: what the journal costs a message, how fast a long one resumes, and waiting for ten thousand jobs at once."""

import json
import pathlib
import subprocess
import sys
import tempfile

import figures
from service import fixed

TITLE = "Batches"
MESSAGES = 1000
AT_ONCE = [1, 4, 16]
LONG = 100_000
JOBS = [100, 1000, 10_000]
WORK, SPREAD = 5, 2
RESUMER = pathlib.Path(__file__).parents[1] / "resumer.py"


def run(setting):
    program = setting.batch
    with fixed(setting.fixed) as arguments, tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        return [*sending(setting, program, arguments, place), *resuming(setting, program, arguments, place), *waiting(setting, program, arguments, place)]


def result(command):
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if ended.returncode != 0:
        sys.exit(f"{command} ended with {ended.returncode}: {ended.stderr}")
    return json.loads(ended.stdout)


def sending(setting, program, arguments, folder):
    found, shared = {}, pathlib.Path("/dev/shm")
    for number in range(setting.count(15, 3)):
        name = "agentjob core"
        took = result([program, *arguments, folder / "none", "loop", MESSAGES])["took"]
        found.setdefault(name, []).append(took / MESSAGES * 1e6)
        for at_once in AT_ONCE:
            took = result([program, *arguments, folder / f"{at_once} {number}", "send", MESSAGES, at_once])["took"]
            found.setdefault(f"agentjob batch, {at_once} at once", []).append(took / MESSAGES * 1e6)
        if shared.is_dir():
            with tempfile.TemporaryDirectory(dir=shared) as memory:
                took = result([program, *arguments, pathlib.Path(memory, "journal"), "send", MESSAGES, 1])["took"]
            found.setdefault("agentjob batch, 1 at once, journal in memory", []).append(took / MESSAGES * 1e6)
    about = (
        f"{MESSAGES:,} messages, each to a job of its own; a run is one process. The core sends its messages one after the other, "
        "without a journal. The batch syncs its journal twice per message, or less when several share a sync; the "
        "difference from a journal in memory is the disk's time."
    )
    return [figures.table("A message of a batch", "µs", found, about=about)]


def resuming(setting, program, arguments, folder):
    journal = folder / "long"
    result([program, *arguments, journal, "send", LONG, 16])
    took, memory = {}, {}
    python = "agentjob Python" in setting.lineup.commands
    for _ in range(setting.count(5, 2)):
        for name in ["agentjob batch", *["agentjob Python"] * python]:
            command = [setting.lineup.python, RESUMER] if name == "agentjob Python" else [program]
            found = result([*command, *arguments, journal, "resume", LONG])
            took.setdefault(name, []).append(found["took"])
            memory.setdefault(name, []).append(found["memory"] / 1e6)
    about = (
        f"A batch of {LONG:,} messages that are all sent: it opens and checks its journal, compares its items with it, and "
        "reports every outcome with its job's record. A run is one process. The budget is 2 s and 100 MB."
    )
    return [
        figures.table(f"{LONG:,} items resumed", "s", took, about=about),
        figures.table(f"{LONG:,} items resumed: memory", "MB", memory, about="Peak memory above that of the client alone."),
    ]


def waiting(setting, program, arguments, folder):
    cores, memory, late = {}, {}, {}
    for jobs in JOBS[: setting.count(3, 2)]:
        for number in range(setting.count(3, 1)):
            found = result([program, *arguments, folder / f"{jobs} {number}", "wait", jobs, WORK * 1000, SPREAD * 1000])
            point, name = f"{jobs:,}", "agentjob batch"
            for figure, value in (
                (cores, found["processor"] / found["took"]),
                (memory, found["memory"] / (1 << 20)),
                (late, found["late"][len(found["late"]) // 2]),
            ):
                figure.setdefault(point, {}).setdefault(name, []).append(value)
    about = (
        f"Messages that are sent and whose jobs end {WORK} s after the start and later, evenly over {SPREAD} s, followed by at most 8 "
        "threads. The budget for 10,000 is one core and 50 MB."
    )
    return [
        figures.series("A batch that waits: cores", "cores", "jobs", cores, about=about),
        figures.series("A batch that waits: memory", "MiB", "jobs", memory, about="Peak memory above that of the client alone."),
        figures.series("A batch that waits: lateness of the median job", "s", "jobs", late),
    ]
