"""The summary of a batch's run: its exit status, and what is left to do."""

import shlex

from .. import exit
from ..printed import without_secrets
from ..terminal import printable
from .describe import names, place, plural, sentence

#: How many messages are listed one by one.
LISTED = 50


class Summary:
    """Counts the outcomes, for a report at the end."""

    def __init__(self, options):
        self._options = options
        self._failed_jobs = self._timed_out = self._unseen = self._held = 0
        self._unknown = []
        self.progress = None
        self.signal = None  # the number of the signal that stopped the batch
        self.failure = None  # the error that did

    def add(self, outcome):
        error, job = outcome["error"], outcome["job"]
        if outcome["delivery"] == "unknown":
            self._unknown.append({name: outcome[name] for name in ("item", "line", "job_id")})
        elif outcome["delivery"] == "not_sent":
            self._held += 1
        elif outcome["delivery"] == "accepted" and self._options.wait:
            # With --wait the job's end counts, too.
            if error is not None and error.kind == "wait_timeout":
                self._timed_out += 1
            elif error is not None:
                self._unseen += 1
            elif job is not None and job["status"] == "failed":
                self._failed_jobs += 1

    @property
    def status(self):
        """The exit status: the first that applies in the table's order."""
        if self.signal is not None:
            return exit.of_signal(self.signal)
        if self.progress["unknown"] or self._unknown:
            return exit.DELIVERY_UNKNOWN
        if self.failure is not None:
            return exit.LEFT
        if self.progress["rejected"] or self._unseen:
            return exit.FAILED
        if self._timed_out:
            return exit.WAIT_TIMED_OUT
        return exit.JOB_FAILED if self._failed_jobs else exit.DONE

    def lines(self):
        """The summary for a person, one sentence per line."""
        yield sentence(self.progress) + self._jobs()
        self._unknown.sort(key=lambda item: item["item"])
        if self._unknown:
            yield from (f"{place(item)}: it may have arrived; check the job" for item in self._unknown[:LISTED])
            if len(self._unknown) > LISTED:
                yield f"and {len(self._unknown) - LISTED} more; agentjob batch status {self._journal} --json lists them all"
            yield f"check their jobs, then decide: whether they arrived, did not arrive, or are sent again anyway:\n  {self._resolve()}"
        if self._unfinished:
            running = plural(self.progress["waiting"], "job")
            left = [f"{plural(self.progress['left'], 'message')} left to send"] if self.progress["left"] else []
            left += [f"{running} still running"] if self.progress["waiting"] else []
            same = ", with the same list on stdin" if self._options.file == "-" else ""
            yield f"{' and '.join(left)}; to resume from journal {printable(self._journal)}{same}:\n  {self.command()}"
        elif self._timed_out:
            yield f"to wait again, for as long:\n  {self.command()}"

    def facts(self):
        """The summary for a program."""
        return {
            "status": self.status,
            "progress": self.progress,
            "jobs_failed": self._failed_jobs,
            "waits_timed_out": self._timed_out,
            "held": self._held,
            "unknown": self._unknown,
            "resume": self.command() if self._unfinished or self._timed_out else None,
            "check": self._resolve() if self._unknown else None,
        }

    def command(self):
        """The command that resumes the batch. It does not send unknown messages again."""
        words = [word for word in without_secrets(self._options.words) if word != "--resend-unknown"]
        return printable(shlex.join(["agentjob", *words]))

    def _resolve(self):
        return f"agentjob batch resolve {printable(self._journal)} {names(self._unknown)} --check"

    @property
    def _journal(self):
        return shlex.quote(self._options.journal)

    @property
    def _unfinished(self):
        return bool(self.progress["left"] or self.progress["waiting"])

    def _jobs(self):
        counts = [f"{self._held} held behind another message to the same job"] if self._held else []
        counts += [f"{plural(self._failed_jobs, 'job')} failed"] if self._failed_jobs else []
        counts += [f"{plural(self._timed_out, 'wait')} timed out"] if self._timed_out else []
        counts += [f"the end of {plural(self._unseen, 'job')} is unknown"] if self._unseen else []
        return "".join("; " + count for count in counts)
