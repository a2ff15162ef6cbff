"""The waits of the command line, in steps: so that whoever ends one is told how to go on from where it was."""

import json
import shlex
import time

from . import errors
from ._arguments import CLIENT, SCHEDULE
from ._native import add_note, send_and_poll


class Interrupted(errors.Error):
    """Ctrl-C, as an error with the same facts as the others."""

    kind = "interrupted"

    def __init__(self, interrupt):
        super().__init__("interrupted")
        # The library's, if a message was on its way.
        self.delivery = getattr(interrupt, "delivery", None)
        self.remarks = getattr(interrupt, "__notes__", [])


def accepted(error):
    """Says at an error of a wait what its own sentence does not: that the message before the wait was taken."""
    add_note(error, "accepted")
    error.remarks = error.__notes__


class Wait:
    """One wait. Its errors are those of Client.send_and_wait and Client.wait.

    Where there is a command to go on, it is the error's `resume`; what is to be told under its sentence, its `remarks`.

    options: the parsed flags. report: hears of every record that is new.
    """

    def __init__(self, options, service, report):
        self._options, self._service, self._report = options, service, report
        self._schedule = {name: getattr(options, flag) for flag, name in SCHEDULE.items() if hasattr(options, flag)}
        self._resumable = options.command != "demo"  # its service is gone with it
        self._job_id = None
        self._poller = None
        self._last = None
        self._delivered = None  # whether a message was taken; None without a message

    def message(self, job_id, prompt):
        """Sends a message, and waits for its result."""
        self._job_id, self._delivered = job_id, False
        return self._follow(lambda: send_and_poll(self._service, job_id, prompt, **self._schedule))

    def new_job(self, prompt):
        """Creates a job, and waits until it is done."""
        self._delivered = False

        def create():
            job = self._service.create_job(prompt)
            self._job_id, self._delivered = job["id"], True
            self._report.say(f"created job {job['id']}")
            self._update(job)
            # The same client, for it knows that the job is new, and that a 404 may be the service catching up.
            return self._service.poller(job["id"], **self._schedule)

        return self._follow(create)

    def job(self, job_id):
        """Waits until a job is done."""
        self._job_id = job_id
        return self._follow(lambda: self._service.poller(job_id, **self._schedule))

    def resumed(self, text):
        """Goes on with a wait that was interrupted."""
        return self._follow(lambda: self._service.resume(text))

    def _follow(self, start):
        try:
            self._poller = poller = start()
            self._job_id = poller.job_id
            self._delivered = None if self._delivered is None else True
            while True:
                if poller.changed:
                    self._update(poller.job)
                if poller.done:
                    return poller.job
                self._report.rests(poller.due_in)
                time.sleep(poller.due_in)
                poller.poll()
        except KeyboardInterrupt as interrupt:
            raise self._interrupted(Interrupted(interrupt)) from None
        except errors.Error as error:
            if self._delivered:
                accepted(error)
            if isinstance(error, errors.WaitTimeoutError):
                error.resume = self._wait_anew()
            raise

    def _update(self, job):
        if job != self._last:
            self._last = job
            self._report.on_update(job)

    def _interrupted(self, error):
        if self._delivered and error.delivery is None:
            accepted(error)
        if self._poller is not None:
            error.attempts, error.elapsed = self._poller.polls + bool(self._delivered), self._poller.elapsed
        waits = self._delivered is None or error.delivery == "accepted"
        if self._resumable and waits and self._job_id is not None:
            # Without a poller the answer to the message was lost, but the client remembers that there was one.
            poller = self._poller or self._service.poller(self._job_id, **self._schedule)
            # ASCII alone, for the text holds words of the service.
            error.resume = self._command("--resume", json.dumps(stand(poller), separators=(",", ":")))
        return error

    def _wait_anew(self):
        """The command for another wait. The text of one whose time is over is no use, for its time stays over."""
        at = stand(self._poller)
        if not self._resumable or at["elapsed_ms"] < at["state"]["settle_until_ms"]:
            return None  # what a finished job shows may still be the previous result
        # The job comes last, behind --: its id may look like a flag.
        return self._command(*(["--"] if self._job_id.startswith("-") else []), self._job_id)

    def _command(self, *words):
        flags = []
        for name in CLIENT:
            given, flag = getattr(self._options, name), "--" + name.replace("_", "-")
            if given is True:
                flags.append(flag)
            elif given not in (None, False):
                flags += [flag, str(given)]
        return shlex.join(["agentjob", "wait", *flags, *words])


def stand(poller):
    """Where a wait stands."""
    return json.loads(str(poller))
