"""The signals that stop a batch."""

import contextlib
import os
import signal

from ..signals import SIGNALS, handle, name_of, write


class Stop:
    """The first signal stops the batch cleanly, the second one exits at once.

    Exiting at once is safe: the journal records which messages were in flight, and the next run lists them.
    """

    def __init__(self, report):
        self._report = report
        self.signal = None
        self.wanted = False  # whether the batch still has to be stopped, or to report that it stops
        self.batch = None
        self._before = contextlib.ExitStack()

    @property
    def name(self):
        return name_of(self.signal)

    def __enter__(self):
        self._before.enter_context(SIGNALS.first(self._on_first, lambda: self._report.cleared() + self._report.exited()))
        again = handle(getattr(signal, "SIGTSTP", None), self._on_suspend)
        if again is not None:
            self._before.callback(again)
        return self

    def __exit__(self, *exception):
        self._before.close()

    def _on_first(self):
        self.signal, self.wanted = SIGNALS.number, True
        if self.batch is not None:
            self.batch.stop()  # here, for a reader that does not read may keep the main loop

    def _on_suspend(self, number, _):
        """Ctrl-Z: clears the live lines before the shell writes its prompt."""
        write(self._report.cleared())
        ours = signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # the process stops here until it is continued
        signal.signal(number, ours)
