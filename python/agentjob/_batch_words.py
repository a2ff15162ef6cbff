"""What is said of a batch, as pure functions of its progress."""

import math
import time

from ._progress import columns_of, cut, printable

DAY = 24 * 3600
#: How wide the bar is at most, and from how many columns on there is one.
BAR, NARROW = 40, 30


def plural(count, word):
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def clock(moment, seconds=False, now=None):
    """A time to come on the clock of this place: 03:40, or with its day if that is not today's or tonight's."""
    now = time.time() if now is None else now
    at = time.localtime(moment)
    shown = time.strftime("%H:%M:%S" if seconds else "%H:%M", at)
    if moment - now < 0.75 * DAY or at[:3] == time.localtime(now)[:3]:
        return shown
    return time.strftime("%a " if moment - now < 6 * DAY else "%Y-%m-%d ", at) + shown


def paused(reason, until, now=None):
    at = clock(math.ceil(until), True, now)
    if reason == "rate_limit":
        return f"the service allows no more until {at}"
    return f"the service cannot be reached or fails; the next try is at {at}"


def recovered(update):
    """What was wrong with a journal, and what that means."""
    dropped, unknown = plural(update["dropped_bytes"], "byte"), update["unknown"]
    means = f"; {plural(unknown, 'message')} may have been sent by {'it' if dropped == '1 byte' else 'them'}" if unknown else ""
    return f"the journal is damaged from its line {update['journal_line']} on: {dropped} passed over{means}"


def finish(finishes, now=None):
    """When the last message is sent, at this pace."""
    now = time.time() if now is None else now
    return f"all sent about {clock(finishes, now=now)}" if finishes - now >= 60 else "all sent within a minute"


def counts(progress):
    """The counts as (words, style); of those that are none, only what every batch has."""
    parts = [(f"{progress['accepted']} accepted", "green")]
    parts += [(f"{progress[name]} {name}", "bold red") for name in ("rejected", "unknown") if progress[name]]
    parts.append((f"{progress['left']} left", ""))
    if progress["sending"]:
        parts.append((f"{progress['sending']} on their way", "dim"))
    if progress["waiting"]:
        parts.append((f"{progress['waiting']} waiting", "cyan"))
    return parts


def sentence(progress):
    """The counts as one sentence."""
    return f"{plural(progress['items'], 'message')}: " + ", ".join(words for words, _ in counts(progress))


def place(outcome):
    """What a message is called: its line, or its number in the list, and its job."""
    name = f"item {outcome['item']}" if outcome.get("line") is None else f"line {outcome['line']}"
    return f"{name} ({printable(outcome['job_id'])})"


def trouble_with(outcome):
    """What a person is to be told of an outcome; None if it went well."""
    error, job = outcome["error"], outcome["job"]
    if outcome["delivery"] != "accepted":
        # The error's own sentence begins with the job and the verdict.
        return f"{place(outcome)}: {error}"
    if error is not None:
        return f"{place(outcome)}: accepted, but: {error}"
    return f"{place(outcome)}: the job failed" if job is not None and job["status"] == "failed" else None


def frame(progress, looks, turn, columns, rows, finishes=None, notes=()):
    """The live lines of a batch, each a list of (words, style) and narrower than the terminal.

    turn: how often it was drawn. finishes: the time when all is sent, if it is known. notes: what to say below, (words, style).
    """
    width = max(columns - 1, 1)
    first = [(looks.frames[turn % len(looks.frames)], "bold blue")]
    numbers = f" {progress['done']}/{progress['items']}"
    share = progress["done"] / max(progress["items"], 1)
    sent = share + progress["waiting"] / max(progress["items"], 1)
    beside = "" if finishes is None else "  " + finish(finishes)
    room = width - 1 - len(numbers) - len("  100 %")
    if room >= len(beside) + NARROW // 2:
        room -= len(beside)
    else:
        beside = ""
    if room >= NARROW // 3:
        bar = min(BAR, room - 1)
        full, under_way = int(bar * share), int(bar * sent)
        done, waiting, open = looks.bar
        first += [(" ", ""), (done * full, "green"), (waiting * (under_way - full), "cyan"), (open * (bar - under_way), "dim")]
    first += [(numbers, "bold"), (f"  {int(100 * share)} %", "dim"), (beside, "")]
    lines = [fitting(first, width), *flowing(counts(progress), "  ", width)]
    for words, style in notes:
        lines += flowing([(word, style) for word in words.split(" ")], " ", width)
    return lines[: max(rows - 1, 1)]


def flowing(parts, gap, width):
    """Parts one beside the other, on as many lines as they need."""
    lines, used = [], 0
    for words, style in parts:
        if not lines or used + len(gap) + columns_of(words) > width:
            lines.append([("  ", "")])
            used = 2
        else:
            lines[-1].append((gap, ""))
            used += len(gap)
        lines[-1].append((words, style))
        used += columns_of(words)
    return [fitting(line, width) for line in lines]


def fitting(parts, width):
    """A line's parts, cut where the line ends."""
    fit = []
    for words, style in parts:
        words = cut(words, width)
        width -= columns_of(words)
        fit.append((words, style))
    return fit
