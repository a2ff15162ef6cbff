"""`agentjob batch run`: sends the messages of a file, each at most once."""

from ... import errors
from ..client import client
from ..flags import SCHEDULE
from ..signals import SIGNALS
from .decided import read_prompt_file
from .display import BatchProgress
from .events import BatchEvents
from .items import name_of, read_items
from .outcomes import Outcomes
from .stop import Stop
from .summary import Summary

#: How long to wait for one event: the longest delay of the display and of Ctrl-C.
EVENT_SECONDS = 0.08


def report_for(options):
    return BatchEvents() if options.json_events else BatchProgress(quiet=options.quiet)


def main(options, report):
    """Runs the batch, and returns the exit status."""
    items = read_items(options.file, options.format, options.extra)
    summary, run = Summary(options), Run(options, report)
    with run.stop, client(options, report, on_event=run.on_event) as service:
        # Reading the journal, and the responses that a batch that stops awaits, take their time.
        with SIGNALS.limit(False), begin(service, items, options, run.on_update) as batch, SIGNALS.limit(True):
            del items  # the batch has them
            run.follow(batch, summary)
            summary.progress, summary.signal, summary.failure = batch.progress(), run.stop.signal, run.failure
        report.end()
        if run.failure is not None and not run.outcomes.reader_left:
            report.fail(run.failure)
        report.summary(summary)
    return summary.status


def begin(service, items, options, on_update):
    wait = {name: getattr(options, flag) for flag, name in SCHEDULE.items() if hasattr(options, flag)}
    pace = {name: getattr(options, name) for name in ("concurrency", "max_outage", "max_busy", "grace") if hasattr(options, name)}
    try:
        return service.send_all(
            items,
            journal=options.journal,
            rate=options.rate,
            wait=options.wait,
            resend_unknown=options.resend_unknown,
            retry_prompts=[read_prompt_file(file) for file in options.prompt_files],
            on_update=on_update,
            **pace,
            **wait,
        )
    except errors.InvalidArgumentError as error:
        if error.line is None:
            raise
        raise errors.InvalidArgumentError(f"{name_of(options.file)}, {error}", error.to_dict()) from None


class Run:
    """One run of a batch, to its end."""

    def __init__(self, options, report):
        self._report = report
        self._earlier = 0
        self._begun = False
        self.stop, self.outcomes = Stop(report), Outcomes(options, report)
        self.failure = None  # the error that stopped the batch
        self._batch = None
        #: What the client's on_event is set to. Without it the batch keeps no events but warnings.
        self.on_event = self._on_event if options.json_events else None

    def follow(self, batch, summary):
        self._batch = self.stop.batch = batch
        while not batch.finished:
            if self.stop.wanted:
                self.stop.wanted = False
                self._report.stopping(batch.progress(), self.stop.name)
                batch.stop()
            try:
                with SIGNALS.limit(False):
                    outcome = batch.next_event(EVENT_SECONDS)
            except errors.Error as error:
                self.failure = self.failure or error
                break
            if outcome is None or not outcome["earlier"]:
                self._begin(batch.progress())
            if outcome is not None:
                summary.add(outcome)
                self._report_outcome(outcome, batch)
            self._report.tick(batch.progress)
        self._begin(batch.progress())

    def on_update(self, update):
        with SIGNALS.limit(True):
            # These come before the outcomes of earlier runs; `repeated` even before anything is sent.
            if update["event"] not in ("recovered", "repeated"):
                self._begin(update["progress"])
            self._report.on_update(update)

    def _on_event(self, event):
        with SIGNALS.limit(True):
            # It comes after the outcomes of earlier runs.
            self._begin(self._batch.progress())
            # A pause is an update, too, which says more.
            if event["event"] not in ("paused", "resumed"):
                self._report.on_event(event)

    def _begin(self, progress):
        """The outcomes of earlier runs come first, and are counted by now."""
        if not self._begun:
            self._begun = True
            self._report.begins(progress, self._earlier)

    def _report_outcome(self, outcome, batch):
        self._earlier += outcome["earlier"]
        self._report.outcome(outcome)
        if self.failure is None:
            self.failure = self.outcomes.write(outcome)
            if self.failure is not None:
                batch.stop()
