"""The signals that stop a batch."""

import contextlib
import os
import signal
import time

#: A second signal within this time is an echo of the first one: a parent process passes on what the terminal sent to both.
ECHO_SECONDS = 0.15


class Stop:
    """Handles Ctrl-C, SIGTERM and SIGHUP: the first stops the batch cleanly, the second exits at once.

    Exiting at once is safe: the journal records which messages were in flight, and the next run lists them.
    """

    def __init__(self, report):
        self._report = report
        self.signal = None
        self.wanted = False  # whether the batch still has to be stopped
        self._at = 0.0
        self._before = contextlib.ExitStack()

    @property
    def name(self):
        return signal.Signals(self.signal).name

    def __enter__(self):
        handlers = {name: self._on_signal for name in ("SIGINT", "SIGTERM", "SIGHUP")}
        for name, handler in {**handlers, "SIGTSTP": self._on_suspend}.items():
            number = getattr(signal, name, None)  # not every platform has all of them
            # A signal that the parent ignores, as nohup and a shell's & do, stays ignored.
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                self._before.callback(signal.signal, number, signal.signal(number, handler))
        return self

    def __exit__(self, *exception):
        self._before.close()

    def _on_signal(self, number, _):
        if self.signal is None:
            self.signal, self.wanted, self._at = number, True, time.monotonic()
        if time.monotonic() - self._at >= ECHO_SECONDS:
            self._clear(self._report.exited())
            os._exit(128 + self.signal)

    def _on_suspend(self, number, _):
        """Ctrl-Z: clears the live lines before the shell writes its prompt."""
        self._clear("")
        ours = signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)  # the process stops here until it is continued
        signal.signal(number, ours)

    def _clear(self, text):
        # Not through sys.stderr, which may be in the middle of a write.
        with contextlib.suppress(OSError):
            os.write(2, (self._report.cleared() + text).encode(errors="replace"))
