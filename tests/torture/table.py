"""The page with the table of calls and outcomes."""

import collections
import datetime
import subprocess

HEAD = """# What happens when a system call fails

Written by `make torture`; [`README.md`](README.md) says how. Each row is one system call in one kind of call. An effect is the errno
with which it failed, or `one byte` for a short read or write. Behind each outcome is the number of cases that had it.
"""
OF_A_CALL = """
The outcome of a send and of a wait is the message's verdict, `accepted` if the call went well. A batch is `complete` if it went well, and
otherwise `stopped, then resumed` by its next run. `malloc` is each allocation of a send.
"""


def commit():
    """What is judged, as words."""
    try:
        found = subprocess.run(["git", "describe", "--always", "--dirty=, changed", "--exclude=*"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "no clone of git's"
    return f"commit {found.stdout.strip()}"


def page(undisturbed, labelled, errnos, commit):
    """`labelled` are pairs of a run and its outcome."""
    rows = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    without = collections.Counter()
    for run, outcome in labelled:
        if run.reached != "applied":
            without[run.reached] += 1
            continue
        language, what, _ = run.case.situation
        rows[(what, run.case.call)][outcome][run.case.effect] += 1
    lines = [HEAD + OF_A_CALL, "| call | fails | outcome | cases | effects |", "| --- | --- | --- | --- | --- |"]
    for (what, call), outcomes in sorted(rows.items()):
        for outcome, effects in sorted(outcomes.items()):
            lines.append(f"| {what} | `{call}` | {outcome} | {sum(effects.values())} | {' '.join(sorted(effects)).replace('one byte', '`one byte`')} |")
    never = sorted({call for run in undisturbed for call in run.calls if call not in errnos})
    lines.append(f"\nOn {datetime.date.today()}, {commit}: {len(labelled)} cases. {without['not reached']} never reached their call, because threads and polls vary between")
    lines.append(f"runs; {without['kept']} reached one that could not end so: it was for one byte, nothing had arrived, or it had no timeout.")
    lines.append(f"Calls that cannot fail, or not in a way that can be imitated, were left alone: {', '.join(f'`{one}`' for one in never)}.\n")
    return "\n".join(lines)
