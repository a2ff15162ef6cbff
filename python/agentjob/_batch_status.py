"""`agentjob batch-status`: what a batch's journal says, whether a run is on or not."""

import json
import shlex
import time
from datetime import datetime, timezone

from ._batch_summary import DELIVERY_UNKNOWN, DONE
from ._batch_words import finish, paused, plural, sentence
from ._native import batch_status as read_status
from ._output import OutputError, emit
from ._progress import printable

#: How many unknown and rejected messages are listed.
LISTED = 20


def batch_status(options, report):
    status = read_status(options.run)
    report.end()
    if options.json:
        text = json.dumps(status, indent=2) + "\n"
    else:
        text = "".join(f"{printable(line)}\n" for line in lines(status, options.run, time.time()))
    broken = emit(text)
    # A reader that goes away, as head does, has seen enough.
    if broken is not None and not isinstance(broken, BrokenPipeError):
        raise OutputError(f"the status could not be written: {broken}")
    return DELIVERY_UNKNOWN if status["unknown"] and not status["running"] else DONE


def lines(status, journal, now):
    """The status for a person, a line each."""
    progress, rate = status["progress"], status["rate"]
    yield f"journal {shlex.quote(journal)}: project {status['project_id']} at {status['base_url']}"
    began, written = moment(status["began_at"]), moment(status["written_at"])
    runs = plural(status["runs"], "run")
    if status["running"]:
        yield f"running as process {status['pid']}, since {when(began, now)}; last written {when(written, now)}; {runs}"
    else:
        yield f"not running; last written {when(written, now)}; {runs}, the last one from {when(began, now)}"
    yield sentence(progress) + (f"; at most {rate}" if rate else "") + ("; waits for the jobs" if status["waits"] else "")
    if status["dropped_bytes"]:
        yield f"damaged: {plural(status['dropped_bytes'], 'byte')} of it cannot be read, and are passed over"
    if progress["pause"]:
        pause = progress["pause"]
        yield f"paused: {paused(pause['reason'], now + pause['seconds'], now)}"
    if status["running"] and progress["finishes_in"] is not None and progress["left"]:
        yield finish(now + progress["finishes_in"], now)
    yield from listed("unknown whether they arrived; look at the jobs:", status["unknown"])
    yield from listed("rejected:", status["rejected"])
    if not status["running"]:
        again = f"agentjob send-all FILE --journal {shlex.quote(journal)}"
        again += (f" --rate {rate}" if rate else "") + (" --wait" if status["waits"] else "")
        if progress["left"] or progress["waiting"]:
            yield f"to go on, with the list that it had: {again}"
        if status["unknown"]:
            yield f"once you know that what is unknown did not arrive, send it again: {again} --resend-unknown"


def listed(title, items):
    if items:
        yield title
        for item in items[:LISTED]:
            yield f"  item {item['item']}: {item['reason'] or item['job_id']}"
        if len(items) > LISTED:
            yield f"  and {len(items) - LISTED} more; --json has all"


def moment(iso):
    """Seconds since 1970 of a time as the journal writes it: 2026-07-14T03:04:05.678Z."""
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in iso else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.strptime(iso, form).replace(tzinfo=timezone.utc).timestamp()


def when(at, now):
    """A time that was, by the clock of this place."""
    today = time.localtime(at)[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", time.localtime(at))
