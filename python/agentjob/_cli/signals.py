"""The signals that end a command: Ctrl-C, SIGTERM and SIGHUP, all in one way.

Only the command line installs handlers; the library never does. As a container's first process it gets no signal without one.
"""

import contextlib
import os
import select
import signal
import time

from . import exit

#: A second signal within this time is an echo of the first one: a parent process passes on what the terminal sent to both.
ECHO_SECONDS = 0.15
#: How long a command may take to end after a signal, without the time that a batch and a decision need. A reader that does not read must
#: not keep it for longer.
REPORT_SECONDS = 3.0
#: An alarm that is this late found the process stopped (Ctrl-Z, a frozen container), which is no time to report in.
LATE_SECONDS = 0.1
#: The numbers of the signals. Not every platform has all of them.
ENDING = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
#: Whether the system says that a stream has room. Windows says it of sockets alone.
SAYS_ROOM = hasattr(select, "PIPE_BUF")


class Interrupt(KeyboardInterrupt):
    """A signal, raised where it found the command. A call that it ends adds the message's verdict."""

    def __init__(self, number):
        super().__init__()
        self.number = number


def number_of(interrupt):
    """The number of the signal that raised a KeyboardInterrupt."""
    return getattr(interrupt, "number", signal.SIGINT)


def name_of(number):
    return signal.Signals(number).name


def handle(number, handler):
    """Sets a handler, and returns a function that takes it back; None without such a signal. A signal that the parent ignores, as
    nohup and a shell's & do, stays ignored."""
    if number is None or signal.getsignal(number) == signal.SIG_IGN:
        return None
    before = signal.signal(number, handler)
    return lambda: signal.signal(number, before)


def handle_all(handler):
    """Sets the handler of all of them, and returns a function that takes it back."""
    before = contextlib.ExitStack()
    with contextlib.suppress(ValueError):  # a thread other than the main one cannot
        for again in filter(None, (handle(number, handler) for number in ENDING)):
            before.callback(again)
    return before.close


class Signals:
    """What the command does about them: the first one interrupts it, or does what `first` says; the second one exits at once."""

    def __init__(self):
        self._reset()

    def _reset(self):
        self.number = None  # the first one's
        self._at = 0.0
        self._first, self._last_words = None, str
        self._limited, self._due = True, 0.0
        self._alarm_before = None  # the program's handler of SIGALRM, and its timer, while ours are set

    def install(self):
        """Until `start` a signal is only noted: what raises while a module loads may get lost in Python's own code for that."""
        self._reset()
        return handle_all(self._on_signal)

    def start(self):
        """From here on a signal interrupts the command. One that came before does so here."""
        self._first = self._interrupt
        self._interrupt_if_noted()

    @contextlib.contextmanager
    def first(self, does, last_words=str):
        """Meanwhile the first signal calls `does`, and raises nothing. last_words: returns what to write when the second one exits."""
        before = self._first, self._last_words
        self._first, self._last_words = does, last_words
        try:
            yield self
        finally:
            if self._first is does:  # not when the command is over
                self._first, self._last_words = before

    @contextlib.contextmanager
    def held(self):
        """What has to be done as a whole: a signal that would interrupt the command does that after it, unless the command is over then.
        Yields a context in which it does that at once."""
        before, noted = self._first, self.number
        if before != self._interrupt:  # what else a signal does interrupts nothing
            yield contextlib.nullcontext
            return

        @contextlib.contextmanager
        def interruptible():
            with self.first(before, self._last_words):
                if self.number != noted:
                    self._interrupt()
                yield

        with self.first(lambda: None, self._last_words):
            yield interruptible
        if self._first is before and self.number != noted:
            self._interrupt()

    @contextlib.contextmanager
    def limit(self, applies):
        """Whether REPORT_SECONDS limit the command meanwhile. They begin again whenever that changes."""
        before, self._limited = self._limited, applies
        self._set_alarm()
        try:
            yield
        finally:
            self._limited = before
            self._set_alarm()

    def _set_alarm(self):
        if self.number is None or not hasattr(signal, "setitimer"):
            return
        handler = signal.signal(signal.SIGALRM, self._on_alarm)
        self._due = time.monotonic() + REPORT_SECONDS
        timer = signal.setitimer(signal.ITIMER_REAL, REPORT_SECONDS if self._limited else 0)
        if handler != self._on_alarm:
            self._alarm_before = handler, timer

    def over(self):
        """The command is over, and reports how it ended. A signal must not keep it from that, and can only make it exit at once."""
        self._first, self._last_words = (lambda: None), str

    def reported(self):
        """All is written."""
        if self._alarm_before is not None:
            handler, timer = self._alarm_before
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, handler)
            signal.setitimer(signal.ITIMER_REAL, *timer)

    def _on_signal(self, number, _):
        if self.number is None:
            self.number, self._at = number, time.monotonic()
            if self._first is not None:
                self._set_alarm()
                self._first()
        elif time.monotonic() - self._at >= ECHO_SECONDS:
            self._exit()

    def _on_alarm(self, *_):
        if time.monotonic() - self._due >= LATE_SECONDS:
            return self._set_alarm()
        if self._first == self._interrupt:  # nothing has caught the exception: it got lost, as one in a finalizer does
            self._interrupt_if_noted()
        self._exit()

    def _exit(self):
        write(self._last_words())
        os._exit(exit.of_signal(self.number))

    def _interrupt_if_noted(self):
        if self.number is not None:
            self._set_alarm()
            self._interrupt()

    def _interrupt(self):
        raise Interrupt(self.number)


def write(text):
    """Writes to stderr from a handler, if that does not block: not through sys.stderr, which may be in the middle of a write."""
    with contextlib.suppress(OSError, ValueError):
        if not SAYS_ROOM or select.select([], [2], [], 0)[1]:
            os.write(2, text.encode(errors="replace"))


#: Those of this process.
SIGNALS = Signals()
