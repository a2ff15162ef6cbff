"""Sentences about a batch, as pure functions of its progress."""

import math
import time

from ..terminal import printable

DAY = 24 * 3600
#: How many items a command names one by one.
FEW = 5


def plural(count, word):
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def clock(moment, seconds=False, now=None):
    """A future time in the local time zone: 03:40, with the day if that is neither today nor tonight."""
    now = time.time() if now is None else now
    at = time.localtime(moment)
    shown = time.strftime("%H:%M:%S" if seconds else "%H:%M", at)
    if moment - now < 0.75 * DAY or at[:3] == time.localtime(now)[:3]:
        return shown
    return time.strftime("%a " if moment - now < 6 * DAY else "%Y-%m-%d ", at) + shown


def paused(reason, until, now=None):
    at = clock(math.ceil(until), True, now)
    if reason == "rate_limit":
        return f"rate limited until {at}"
    return f"the service cannot be reached or fails; next attempt at {at}"


def recovered(update):
    """What was wrong with a journal, and what that means for messages."""
    dropped, unknown = plural(update["dropped_bytes"], "byte"), update["unknown"]
    means = f"; {plural(unknown, 'message')} may have been sent" if unknown else ""
    return f"line {update['journal_line']} of the journal was cut off: {dropped} skipped{means}"


def repeated(update):
    """Which messages of the list repeat earlier ones."""
    def name(item, line):
        return f"item {item}" if line is None else f"line {line}"

    message, first = name(update["item"], update["line"]), name(update["first_item"], update["first_line"])
    others = update["count"] - 1
    more = f"; so do {plural(others, 'other message')}" if others > 1 else "; so does 1 other message" if others else ""
    return f"{message} repeats {first}, with the same job and the same prompt{more}: each of them is sent"


def finish(finishes, now=None):
    """When the last message will be sent, at the current pace."""
    now = time.time() if now is None else now
    return f"all sent by about {clock(finishes, now=now)}" if finishes - now >= 60 else "all sent within a minute"


def counts(progress):
    """The counts that are not zero, as (text, style); accepted and left are always there."""
    parts = [(f"{progress['accepted']} accepted", "green")]
    parts += [(f"{progress[name]} {name}", "bold red") for name in ("rejected", "unknown") if progress[name]]
    parts += [(f"{progress['dropped']} dropped", "dim")] if progress["dropped"] else []
    parts.append((f"{progress['left']} left", ""))
    if progress["sending"]:
        parts.append((f"{progress['sending']} in flight", "dim"))
    if progress["waiting"]:
        parts.append((f"{progress['waiting']} waiting", "cyan"))
    if progress["busy"]:
        parts.append((f"{progress['busy']} behind a busy job", "yellow"))
    return parts


def sentence(progress):
    """The counts as one sentence."""
    return f"{plural(progress['items'], 'message')}: " + ", ".join(text for text, _ in counts(progress))


def place(outcome):
    """A message's name: its number in the list, which the commands that decide take, its job, and its line in the file."""
    line = "" if outcome.get("line") is None else f", line {outcome['line']}"
    return f"item {outcome['item']} ({printable(outcome['job_id'])}{line})"


def names(items):
    """The items, for a command: their numbers if they are few."""
    return " ".join(str(item["item"]) for item in items) if len(items) <= FEW else "all"


def problem_of(outcome):
    """The line for a message that failed; None if all is well."""
    error, job = outcome["error"], outcome["job"]
    if error is not None:
        # Its text begins with the job and the verdict.
        return f"{place(outcome)}: {error}"
    return f"{place(outcome)}: the job failed" if job is not None and job["status"] == "failed" else None
