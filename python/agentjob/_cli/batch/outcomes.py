"""The outcomes of a batch on stdout, as JSON, one object per line."""

import os
import stat
import sys

from ..events import error_facts
from ..output import OutputError, emit
from ..record import as_json


class Outcomes:
    """Writes outcomes to stdout. A terminal gets them only with --json, because it has the display."""

    def __init__(self, options, report):
        self._report = report
        terminal = is_terminal(sys.stdout)
        self._wanted = sys.stdout is not None and (options.json or not terminal)
        # The display may share a terminal with stdout, or with what a reader such as jq writes.
        self._piped = not terminal and is_pipe(sys.stdout)
        self._beside = terminal or self._piped
        self.reader_left = False  # whether the reader went away, as head does, which is no error of the batch

    def write(self, outcome):
        """Returns an OutputError if the outcome cannot be written."""
        if not self._wanted:
            return None
        if self._beside:
            self._report.clear(soon=self._piped)
        # ASCII only: it fits any encoding and has no control characters.
        error = outcome["error"]
        line = as_json({**outcome, "error": error and error_facts(error)})
        broken = emit(line + "\n", last=False)
        if broken is None:
            return None
        self.reader_left = isinstance(broken, BrokenPipeError)
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
