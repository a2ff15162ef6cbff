"""The waits of the command line. One that is interrupted prints the command that resumes it."""

import json
import shlex
import time
from signal import SIGINT

from .. import _wait, errors
from .._native import add_note
from .flags import CLIENT, SCHEDULE
from .printed import without_secrets
from .signals import name_of, number_of


class Interrupted(errors.Error):
    """A signal that ended the command, as an error with the same attributes as the others."""

    kind = "interrupted"

    def __init__(self, interrupt):
        self.signal = number_of(interrupt)
        super().__init__("interrupted" if self.signal == SIGINT else f"interrupted by {name_of(self.signal)}")
        # The library adds both if a message was in flight.
        self.delivery = getattr(interrupt, "delivery", None)
        self.job = getattr(interrupt, "job", None)  # the one that was created, if it is not known otherwise
        self.remarks = getattr(interrupt, "__notes__", [])
        self.attempts = self.elapsed = None  # of a call that a signal ended neither is known


def delivered(options, send):
    """Makes the call that delivers the command's message. A signal that comes just before it, or just after, gets no verdict from the
    call; options.delivery has what is true then."""
    options.delivery = "unknown"
    done = send()
    options.delivery = "accepted"
    return done


def add_known(error, options):
    """Adds the verdict of the command's message to an error that has none."""
    if error.delivery is None and options.delivery is not None:
        # A usage error implies that nothing was sent.
        add_verdict(error, options.delivery, remark=not isinstance(error, errors.InvalidArgumentError))


def add_verdict(error, verdict, remark=True):
    """Adds the verdict to an error. remark: the error's sentence does not say it."""
    add_note(error, verdict)
    if remark:
        error.remarks = [*error.__notes__, *getattr(error, "remarks", ())]


class Wait:
    """One wait. Its errors are those of Client.send_and_wait and Client.wait.

    An error's `resume` is the command that continues the wait, if there is one; its `remarks` are printed below its sentence.

    options: the parsed flags. report: gets every new record.
    """

    def __init__(self, options, service, report):
        self._options, self._service, self._report = options, service, report
        self._schedule = {name: getattr(options, flag) for flag, name in SCHEDULE.items() if hasattr(options, flag)}
        self._resumable = options.command != "demo"  # the demo's service ends with it
        self._job_id = None
        self.poller = None
        self._last = None

    def message(self, job_id, prompt):
        """Sends a message, and waits for its result."""
        self._job_id = job_id
        return self._follow(lambda: delivered(self._options, lambda: self._service._send_and_poll(job_id, prompt, **self._schedule)))

    def new_job(self, prompt):
        """Creates a job, and waits until it is done."""

        def create():
            job = delivered(self._options, lambda: self._service.create_job(prompt))
            self._job_id = job["id"]
            self._report.say(f"created job {job['id']}")
            self._update(job)
            # Of the same client: it knows that the job is new, so it treats a 404 as transient.
            return self._service.poller(job["id"], **self._schedule)

        return self._follow(create)

    def job(self, job_id):
        """Waits until a job is done."""
        self._job_id = job_id
        return self._follow(lambda: self._service.poller(job_id, **self._schedule))

    def resumed(self, text):
        """Resumes a wait that was interrupted."""
        return self._follow(lambda: self._service.resume(text))

    def _follow(self, start):
        try:
            self.poller = poller = start()
            self._job_id = poller.job_id
            for job in _wait.records(poller):
                if job is not None:
                    self._update(job)
                    continue
                self._report.pauses(poller.due_in)
                time.sleep(poller.due_in)
                poller.poll()
            return poller.job
        except KeyboardInterrupt as interrupt:
            raise self._interrupted(Interrupted(interrupt)) from None
        except errors.Error as error:
            timed_out = isinstance(error, errors.WaitTimeoutError)
            if self._options.delivery == "accepted":
                # The error of a wait after a message says so itself, but a wait for a new job is like one for any job.
                add_verdict(error, "accepted", remark=self._options.command == "create")
            if timed_out:
                error.resume = self._wait_again()
            raise

    def _update(self, job):
        if job != self._last:
            self._last = job
            self._report.on_update(job)

    def _interrupted(self, error):
        add_known(error, self._options)
        if error.job is not None:
            self._job_id = error.job["id"]
        if self.poller is not None:
            sent = self._options.delivery == "accepted"
            error.attempts, error.elapsed = self.poller.polls + sent, self.poller.elapsed
        waits = error.delivery in (None, "accepted")
        if self._resumable and waits and self._job_id is not None:
            # Without a poller the response to the message was lost, but the client remembers that the message was accepted.
            poller = self.poller or self._service.poller(self._job_id, **self._schedule)
            # ASCII only, because the text contains text of the service.
            error.resume = self._command("--resume", json.dumps(state_of(poller), separators=(",", ":")))
        return error

    def _wait_again(self):
        """The command for another wait. A wait that timed out cannot be resumed from its text: it would time out at once."""
        at = state_of(self.poller)
        if not self._resumable or at["elapsed_ms"] < at["state"]["settle_until_ms"]:
            return None  # a finished job may still show its previous result
        return self._command(*job_words(self._job_id))

    def _command(self, *words):
        return command(self._options, "wait", *words)


def job_words(job_id):
    """A command's argument for this job, whose id may look like a flag."""
    return ["--", job_id] if job_id.startswith("-") else [job_id]


def command(options, name, *words):
    """Another command of this command line, for the same service."""
    flags = []
    for setting in CLIENT:
        given, flag = getattr(options, setting), "--" + setting.replace("_", "-")
        if given is True:
            flags.append(flag)
        elif given not in (None, False):
            flags += [flag, str(given)]
    for text in options.header or ():
        flags += ["--header", text]
    return shlex.join(["agentjob", name, *without_secrets(flags), *words])


def state_of(poller):
    """A wait's state."""
    return json.loads(str(poller))
