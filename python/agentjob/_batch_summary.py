"""What a run of a batch came to: its exit status, and what is left for a person to do."""

import shlex

from ._batch_words import place, plural, sentence
from ._progress import printable

DONE, JOB_FAILED, FAILED, WAIT_TIMED_OUT, DELIVERY_UNKNOWN = 0, 1, 3, 4, 5
#: How many messages are named one by one.
NAMED = 50


class Summary:
    """Takes the outcomes, and tells of them at the end."""

    def __init__(self, options):
        self._options = options
        self._failed_jobs = self._timed_out = self._unseen = 0
        self._unknown = []
        self.progress = None
        self.signal = None  # what ended the batch: a signal's number, or an error
        self.failure = None

    def add(self, outcome):
        error, job = outcome["error"], outcome["job"]
        if outcome["delivery"] == "unknown":
            self._unknown.append({name: outcome[name] for name in ("item", "line", "job_id")})
        elif outcome["delivery"] == "accepted" and self._options.wait:
            # Whoever waits wants the job's end.
            if error is not None and error.kind == "wait_timeout":
                self._timed_out += 1
            elif error is not None:
                self._unseen += 1
            elif job is not None and job["status"] == "failed":
                self._failed_jobs += 1

    @property
    def status(self):
        """The exit status: what matters most of all that happened."""
        if self.signal is not None:
            return 128 + self.signal
        if self.progress["unknown"]:
            return DELIVERY_UNKNOWN
        if self.failure is not None or self.progress["rejected"] or self._unseen:
            return FAILED
        if self._timed_out:
            return WAIT_TIMED_OUT
        return JOB_FAILED if self._failed_jobs else DONE

    def lines(self):
        """The summary for a person, a sentence a line."""
        yield sentence(self.progress) + self._jobs()
        self._unknown.sort(key=lambda item: item["item"])
        if self._unknown:
            yield from (f"{place(item)}: unknown whether it arrived; look at the job" for item in self._unknown[:NAMED])
            if len(self._unknown) > NAMED:
                yield f"and {len(self._unknown) - NAMED} more, which agentjob batch-status {self._journal} --json names"
            yield f"once you know that what is unknown did not arrive, send it again:\n  {self.command(resend=True)}"
        if self._unfinished:
            at_work = plural(self.progress["waiting"], "job")
            left = [f"{plural(self.progress['left'], 'message')} left to send"] if self.progress["left"] else []
            left += [f"{at_work} still at work"] if self.progress["waiting"] else []
            same = ", with the same list on stdin" if self._options.file == "-" else ""
            yield f"{' and '.join(left)}; journal {printable(self._journal)} has the place; to go on{same}:\n  {self.command()}"
        elif self._timed_out:
            yield f"to go on waiting, as long again:\n  {self.command()}"

    def facts(self):
        """The summary for a program."""
        return {
            "status": self.status,
            "progress": self.progress,
            "jobs_failed": self._failed_jobs,
            "waits_timed_out": self._timed_out,
            "unknown": self._unknown,
            "resume": self.command() if self._unfinished or self._timed_out else None,
        }

    def command(self, resend=False):
        """The command that goes on. It sends again what is unknown only if that is asked for anew."""
        words = [word for word in self._options.words if word != "--resend-unknown"]
        if resend:
            words.insert(1, "--resend-unknown")
        return printable(shlex.join(["agentjob", *words]))

    @property
    def _journal(self):
        return shlex.quote(self._options.journal)

    @property
    def _unfinished(self):
        return bool(self.progress["left"] or self.progress["waiting"])

    def _jobs(self):
        words = [f"{plural(self._failed_jobs, 'job')} failed"] if self._failed_jobs else []
        words += [f"{plural(self._timed_out, 'wait')} timed out"] if self._timed_out else []
        words += [f"the end of {plural(self._unseen, 'job')} was not seen"] if self._unseen else []
        return "".join("; " + word for word in words)
