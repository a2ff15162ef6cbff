"""`agentjob send-all`: a file of messages, each sent at most once, whatever ends the process."""

import contextlib
import json
import os
import re
import signal
import stat
import sys
import time

from . import errors
from ._arguments import CLIENT, SCHEDULE
from ._batch_display import error_facts
from ._batch_items import read_items
from ._batch_summary import Summary
from ._native import Client
from ._output import OutputError, emit
from ._progress import printable

#: How long a step waits: how late the display and Ctrl-C are at most.
STEP_SECONDS = 0.08
#: A second signal within this time is the first one's echo: a parent hands on what the terminal has sent to both.
ECHO_SECONDS = 0.15


def send_all(options, report):
    """Runs the batch, and returns the exit status."""
    items = read_items(options.file, options.format)
    settings = {name: getattr(options, name, None) for name in CLIENT}
    summary, run = Summary(options), Run(options, report)
    with run.stop, Client(**settings, user_agent_suffix="cli") as service:
        with begin(service, items, options, run.on_update) as batch:
            del items  # the batch has them
            run.follow(batch, summary)
            summary.progress, summary.signal, summary.failure = batch.progress(), run.stop.signal, run.failure
        report.end()
        if run.failure is not None and not run.output.left:
            report.fail(run.failure)
        report.summary(summary)
    return summary.status


def begin(service, items, options, on_update):
    wait = {name: getattr(options, flag) for flag, name in SCHEDULE.items() if hasattr(options, flag)}
    pace = {name: getattr(options, name) for name in ("concurrency", "max_outage", "grace") if hasattr(options, name)}
    try:
        return service.send_all(
            items,
            journal=options.journal,
            rate=options.rate,
            wait=options.wait,
            resend_unknown=options.resend_unknown,
            on_update=on_update,
            **pace,
            **wait,
        )
    except errors.InvalidArgumentError as error:
        if not re.match(r"line \d+", str(error)):
            raise
        name = "stdin" if options.file == "-" else printable(options.file)
        raise errors.InvalidArgumentError(f"{name}, {error}") from None


class Run:
    """The way through a batch to its end."""

    def __init__(self, options, report):
        self._report = report
        self._earlier = 0
        self._begun = False
        self.stop, self.output = Stop(report), Output(options, report)
        self.failure = None  # the error that stopped the batch

    def follow(self, batch, summary):
        while not batch.over:
            if self.stop.wanted:
                self.stop.wanted = False
                self._report.stopping(batch.progress(), self.stop.name)
                batch.stop()
            try:
                outcome = batch.step(STEP_SECONDS)
            except errors.Error as error:
                self.failure = self.failure or error
                break
            if outcome is None or not outcome["earlier"]:
                self._begin(batch.progress())
            if outcome is not None:
                summary.add(outcome)
                self._tell(outcome, batch)
            self._report.tick(batch.progress)
        self._begin(batch.progress())

    def on_update(self, update):
        # A damaged journal is told of before what it has of earlier runs.
        if update["event"] != "recovered":
            self._begin(update["progress"])
        self._report.on_update(update)

    def _begin(self, progress):
        """What earlier runs found out comes before anything else, and has been counted."""
        if not self._begun:
            self._begun = True
            self._report.begins(progress, self._earlier)

    def _tell(self, outcome, batch):
        self._earlier += outcome["earlier"]
        self._report.outcome(outcome)
        if self.failure is None:
            self.failure = self.output.write(outcome)
            if self.failure is not None:
                batch.stop()


class Output:
    """The outcomes on stdout, one JSON object a line; a terminal gets them only with --json, for it has the display."""

    def __init__(self, options, report):
        self._report = report
        terminal = is_terminal(sys.stdout)
        self._wanted = sys.stdout is not None and (options.json or not terminal)
        # The display may be on the same terminal, or on the one that a reader such as jq writes to.
        self._piped = not terminal and is_pipe(sys.stdout)
        self._beside = terminal or self._piped
        self.left = False  # whether the reader went away, as head does: that is no error of the batch

    def write(self, outcome):
        """Returns the error if it cannot be written."""
        if not self._wanted:
            return None
        if self._beside:
            self._report.clear(soon=self._piped)
        # ASCII alone, so it fits any encoding and cannot steer a terminal.
        line = json.dumps({**outcome, "error": error_facts(outcome["error"])}, separators=(",", ":"))
        broken = emit(line + "\n")
        if broken is None:
            return None
        self.left = isinstance(broken, BrokenPipeError)
        return OutputError(f"the batch was stopped: an outcome could not be written: {broken}")


def is_terminal(stream):
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # it is closed
        return False


def is_pipe(stream):
    try:
        return stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (AttributeError, OSError, ValueError):
        return False


class Stop:
    """Ctrl-C, SIGTERM and a terminal that goes away: the first lets the batch come to a clean end, the second leaves at once.

    Leaving at once is safe: of what was on its way the journal says so, and the next run names it.
    """

    def __init__(self, report):
        self._report = report
        self.signal = None
        self.wanted = False  # whether the batch is still to be told
        self._at = 0.0
        self._before = contextlib.ExitStack()

    @property
    def name(self):
        return signal.Signals(self.signal).name

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP):
            # What a parent had ignored, as nohup and a shell's & do, stays so.
            if signal.getsignal(number) != signal.SIG_IGN:
                handler = self._on_suspend if number == signal.SIGTSTP else self._on_signal
                self._before.callback(signal.signal, number, signal.signal(number, handler))
        return self

    def __exit__(self, *exception):
        self._before.close()

    def _on_signal(self, number, _):
        if self.signal is None:
            self.signal, self.wanted, self._at = number, True, time.monotonic()
        if time.monotonic() - self._at >= ECHO_SECONDS:
            self._clean_up(self._report.left())
            os._exit(128 + self.signal)

    def _on_suspend(self, number, _):
        """Ctrl-Z: the shell is not to write over the live lines."""
        self._clean_up("")
        ours = signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # and here it stands, until it is to go on
        signal.signal(number, ours)

    def _clean_up(self, words):
        # Not through sys.stderr, which may be in the middle of a write.
        with contextlib.suppress(OSError):
            os.write(2, (self._report.leaving() + words).encode(errors="replace"))
