"""`agentjob batch-status`: a batch's progress from its journal, whether a run is active or not."""

import json
import shlex
import time
from datetime import datetime, timezone

from ..._native import batch_status as read_status
from .. import exit
from ..output import print_result
from ..terminal import printable
from .describe import finish, paused, plural, sentence

#: How many unknown and rejected messages are listed.
LISTED = 20


def batch_status(options, report):
    status = read_status(options.run)
    report.end()
    if options.json:
        text = json.dumps(status, indent=2) + "\n"
    else:
        text = "".join(f"{printable(line)}\n" for line in lines(status, options.run, time.time()))
    print_result("status", text)
    return exit.DELIVERY_UNKNOWN if status["unknown"] and not status["running"] else exit.DONE


def lines(status, journal, now):
    """The status for a person, one fact per line."""
    progress, rate = status["progress"], status["rate"]
    yield f"journal {shlex.quote(journal)}: project {status['project_id']} at {status['base_url']}"
    began, written = moment(status["began_at"]), moment(status["written_at"])
    runs = plural(status["runs"], "run")
    if status["running"]:
        yield f"running as process {status['pid']}, since {when(began, now)}; last written {when(written, now)}; {runs}"
    else:
        yield f"not running; last written {when(written, now)}; {runs}, the last one started {when(began, now)}"
    yield sentence(progress) + (f"; at most {rate}" if rate else "") + ("; waits for the jobs" if status["waits"] else "")
    if status["dropped_bytes"]:
        yield f"damaged: {plural(status['dropped_bytes'], 'byte')} cannot be read and are skipped"
    if progress["pause"]:
        pause = progress["pause"]
        yield f"paused: {paused(pause['reason'], now + pause['seconds'], now)}"
    if status["running"] and progress["finishes_in"] is not None and progress["left"]:
        yield finish(now + progress["finishes_in"], now)
    yield from listed("may have arrived; check the jobs:", status["unknown"])
    yield from listed("rejected:", status["rejected"])
    if not status["running"]:
        again = f"agentjob send-all FILE --journal {shlex.quote(journal)}"
        again += (f" --rate {rate}" if rate else "") + (" --wait" if status["waits"] else "")
        if progress["left"] or progress["waiting"]:
            yield f"to resume, with the same list: {again}"
        if status["unknown"]:
            yield f"if you know that these messages did not arrive, send them again: {again} --resend-unknown"


def listed(title, items):
    if items:
        yield title
        for item in items[:LISTED]:
            yield f"  item {item['item']}: {item['reason'] or item['job_id']}"
        if len(items) > LISTED:
            yield f"  and {len(items) - LISTED} more; --json lists them all"


def moment(iso):
    """Seconds since 1970 for a time as the journal writes it: 2026-07-14T03:04:05.678Z."""
    form = "%Y-%m-%dT%H:%M:%S.%fZ" if "." in iso else "%Y-%m-%dT%H:%M:%SZ"
    return datetime.strptime(iso, form).replace(tzinfo=timezone.utc).timestamp()


def when(at, now):
    """A past time in the local time zone."""
    today = time.localtime(at)[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M:%S" if today else "%Y-%m-%d %H:%M:%S", time.localtime(at))
