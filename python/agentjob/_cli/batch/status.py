"""`agentjob batch status`: a batch's progress from its journal, whether a run is active or not."""

import json
import shlex
import time
from datetime import datetime, timezone

from ..._native import batch_status
from .. import exit
from ..output import print_result
from ..terminal import printable
from .describe import finish, names, paused, plural, sentence

#: How many unknown and rejected messages are listed.
LISTED = 20


def main(options, report):
    status = batch_status(options.run)
    report.end()
    if options.json:
        text = json.dumps(status, indent=2) + "\n"
    else:
        text = "".join(f"{printable(line)}\n" for line in lines(status, options.run, time.time()))
    print_result(text, "the status could not be written")
    return status_of(status)


def status_of(status):
    """The exit status, from what the journal has."""
    if status["running"]:
        return exit.DONE
    if status["unknown"]:
        return exit.DELIVERY_UNKNOWN
    if status["progress"]["left"]:
        return exit.LEFT
    if status["rejected"]:
        return exit.FAILED
    return exit.JOB_FAILED if status["failed"] else exit.DONE


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
        yield f"cut off: {plural(status['dropped_bytes'], 'byte')} of the journal are skipped"
    if progress["pause"]:
        pause = progress["pause"]
        yield f"paused: {paused(pause['reason'], now + pause['seconds'], now)}"
    if status["running"] and progress["finishes_in"] is not None and progress["left"]:
        yield finish(now + progress["finishes_in"], now)
    yield from listed("may have arrived; check the jobs:", status["unknown"])
    yield from listed("rejected:", status["rejected"])
    yield from listed("their jobs failed:", status["failed"])
    yield from listed("decided:", [{**made, "reason": describe_decision(made, now)} for made in status["decisions"]])
    if not status["running"]:
        yield from next_steps(status, journal)


def next_steps(status, journal):
    """What to do next, as commands that are ready to paste."""
    progress, run = status["progress"], shlex.quote(journal)
    steps = []
    if status["unknown"]:
        resolve = f"agentjob batch resolve {run} {names(status['unknown'])}"
        steps += [
            (f"{resolve} --check", "shows the jobs"),
            (f"{resolve} --arrived", "they count as accepted"),
            (f"{resolve} --not-arrived", "the next run sends them"),
            (f"{resolve} --resend", "the next run sends them although they may have arrived"),
        ]
    if status["rejected"]:
        rejected = names(status["rejected"])
        steps.append((f"agentjob batch retry {run} {rejected}", "the next run sends them; --prompt-file FILE: with another prompt"))
        # `drop all` would be about the unknown ones, too.
        if rejected != "all" or not status["unknown"]:
            steps.append((f"agentjob batch drop {run} {rejected}", "no run sends them"))
    if progress["left"] or progress["waiting"]:
        steps.append((run_command(status, run), "resumes, with the same list and flags" + (", and with the new prompts" if status["new_prompts"] else "")))
    if steps:
        yield "next:"
        width = min(max(len(command) for command, _ in steps), 70)
        yield from (f"  {command:<{width}}  # {what}" for command, what in steps)


def run_command(status, run, prompt_file=None, in_it=0):
    """The command of the next run: with the rate and the wait of the last one, the journal as a shell reads it, and the files of the
    new prompts: prompt_file, as a shell reads it, for `in_it` messages, and a FILE for the others."""
    rate = f" --rate {status['rate']}" if status["rate"] else ""
    files = [prompt_file] if prompt_file else []
    files += ["FILE"] if status["new_prompts"] > in_it else []
    prompts = "".join(f" --prompt-file {file}" for file in files)
    return f"agentjob batch run FILE --journal {run}{rate}" + (" --wait" if status["waits"] else "") + prompts


def describe_decision(made, now):
    return f"{made['decision']} ({made['job_id']}), {when(moment(made['at']), now)}"


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
