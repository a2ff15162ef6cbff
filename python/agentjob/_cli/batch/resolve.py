"""`agentjob batch resolve`: decides about messages that may have arrived."""

import json

from ... import errors
from ..._native import batch_export, batch_resolve, batch_status
from .. import exit
from ..client import client
from ..events import error_facts
from ..output import print_result
from ..terminal import printable
from .decided import decide, items_of
from .describe import place

#: Why one job cannot be read, while others can. After any other failure the next job would not be read either.
OF_ITS_JOB = (errors.NotFoundError, errors.BadRequestError, errors.InvalidResponseError)


def main(options, report):
    if options.resolution is None and not options.check:
        options.refuse("give --check, or one of --arrived, --not-arrived and --resend")
    items = items_of(options.items)
    if options.check:
        all_read = check(items, options, report)
        if not all_read and options.resolution is not None:
            report.say("nothing was decided, because not every job could be read")
        if not all_read or options.resolution is None:
            return exit.DONE if all_read else exit.FAILED
    return decide(lambda: batch_resolve(options.run, items, options.resolution), options, report)


def check(items, options, report):
    """Polls the job of each message and prints its record or error, one object per line. It decides nothing. Returns whether every job
    could be read."""
    records = map(json.loads, batch_export(options.run, "jsonl", items).splitlines())
    messages = [record for record in records if items != "all" or record["state"] == "unknown"]
    if not messages:
        report.say("no message may have arrived: there is nothing to check")
        return True
    all_read = True
    with client(options, report) as service:
        check_service(options.run, service)
        for message in messages:
            shown = {name: message[name] for name in ("item", "key", "job_id", "state", "at", "reason")}
            job, failure = None, None
            try:
                job = service.get_job(message["job_id"])
            except OF_ITS_JOB as error:
                failure = error  # handled below: a signal in here would count as one that came while an error ended the command
            if failure is not None:
                all_read = False
                report.say(f"{place(message)}: {failure}")
            shown.update(job=job, error=failure and error_facts(failure))
            print_result(json.dumps(shown) + "\n", "the record could not be written")
    return all_read


def check_service(journal, service):
    """Refuses a journal of another service or project, whose jobs of these names are others, as a run does."""
    status = batch_status(journal)
    if (status["base_url"], status["project_id"]) == (service.base_url, service.project_id):
        return
    raise errors.JournalError(
        f'journal "{printable(journal)}" belongs to project {printable(status["project_id"])} at {printable(status["base_url"])}, '
        f"but this client uses project {printable(service.project_id)} at {printable(service.base_url)}. "
        "Give each project its own journal.",
        {"delivery": None},
    )
