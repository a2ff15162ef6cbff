"""A batch's progress on stderr for a person: live lines in a terminal, otherwise plain lines."""

import os
import time

from ..progress import REDRAW_SECONDS, Progress, failing
from ..terminal import Plain, printable, style_for, write
from .describe import finish, paused, plural, problem_of, recovered, repeated, sentence
from .frame import frame

#: Without a live terminal: the shortest time between two lines with the counts.
LINE_SECONDS = 60.0
#: After other output on the terminal the lines are redrawn after this time, but no more often.
CLEARED_SECONDS = 0.02
#: How long a reader of stdout has to write to the terminal before the lines are redrawn; and the longest time without the lines.
READER_SECONDS, LONGEST_SECONDS = 0.04, 0.3
#: A new estimate of a time is ignored if it is this close to the one on display, so that the display does not flicker.
STEADY = {"pause": 1.5, "finish": 30.0}
#: How many different reasons of failing polls are reported.
MOST_REASONS = 10
#: Erases the screen from the first of the batch's lines, where the cursor is.
ERASE = "\r\x1b[J"
EXITED = "exited at once; the next run lists the messages that were in flight"


class BatchProgress(Progress):
    """Reports a batch. Everything happens on the thread that receives the batch's events.

    The live lines are redrawn in place, and the cursor stays at the start of the first one. If the terminal becomes narrower and
    wraps them, they are still below the cursor, and are erased with it. While they are written, wrapping is off; the same write
    switches it on again.
    """

    def __init__(self, quiet=False):
        super().__init__(quiet=quiet)
        self._style = None
        self._turn = 0
        self._due = None  # when to draw the next frame, or print the next line
        self._last_line = None  # the counts of the last line
        self._pause = None  # the sentence of the current pause
        self._error = None  # the service failure behind it
        self._steady = {}
        self._drawn_at = 0.0
        self._width = None  # the terminal's width then
        self._reasons = set()  # of the failing polls that were reported
        self._waiting = ""  # text to print with the next frame, in one write, so that the lines never disappear

    def begins(self, progress, earlier):
        done = f"; {earlier} already have outcomes from earlier runs" if earlier else ""
        self.say(plural(progress["items"], "message") + done)
        self._due = time.monotonic() + (REDRAW_SECONDS if self._live else LINE_SECONDS)

    def on_warning(self, event):
        """Reports polls that keep failing, each reason once: they are of many jobs, and fail alike."""
        warning = failing(event)
        if warning not in self._reasons and len(self._reasons) < MOST_REASONS:
            self._reasons.add(warning)
            self.say(f"job {event['job_id']}: {warning}")

    def on_update(self, update):
        if update["event"] == "recovered":
            self.say(recovered(update))
        elif update["event"] == "repeated":
            self.say(repeated(update))
        elif update["event"] == "resumed":
            self._error = self._pause = None
            if self._lines:
                self.say("resumed")
        elif update["event"] == "paused":
            # A rate limit needs no further explanation, and of an earlier run's pause there is none.
            explained = update["reason"] == "service_failure" and update["error"] is not None
            self._error = printable(str(update["error"])) if explained else None
            self._pauses(update["reason"], update["pause"])

    def outcome(self, outcome):
        """Reports a message that failed, unless an earlier run reported it."""
        problem = None if outcome["earlier"] else problem_of(outcome)
        if problem is not None:
            self.say(problem)

    def tick(self, progress):
        """Draws or prints what is due. progress: a function that returns the batch's progress."""
        if self._due is None or time.monotonic() < self._due:
            return
        if self._live:
            self._due = time.monotonic() + REDRAW_SECONDS
            self._draw(progress())
        elif self._lines:
            self._due = time.monotonic() + LINE_SECONDS
            self._line(progress())

    def clear(self, soon):
        """Makes room for other output on the same terminal: now, or soon, from a reader of stdout."""
        now = time.monotonic()
        if soon and self._live and self._due is not None:
            self._due = max(self._due, min(now + READER_SECONDS, self._drawn_at + LONGEST_SECONDS))
        elif self._drawn:
            self._due = min(self._due, self._drawn_at + CLEARED_SECONDS)
        self._erase()

    def stopping(self, progress, signal_name):
        again = "Ctrl-C again" if signal_name == "SIGINT" else "a second signal"
        sending = progress["sending"]
        in_flight = f"{plural(sending, 'message') if sending else 'no message'} in flight"
        if self._live and not self._drawn:
            write(self._stream, ERASE)  # the ^C that the terminal wrote; a frame would be erased anyway
        self.say(f"stopping: {in_flight}; {again} exits at once")

    def cleared(self):
        """Returns what to write, in any way, before something else takes the terminal."""
        text, self._drawn, self._waiting = (ERASE if self._drawn else "") + self._waiting, False, ""
        return text

    def exited(self):
        """Returns what to write after that when the process exits with messages in flight."""
        return f"agentjob: {EXITED}\n"

    def end(self):
        self._erase()
        super().end()

    def summary(self, summary):
        self.end()
        if not self._quiet or summary.status:
            self._print("".join(f"agentjob: {line}\n" for line in summary.lines()))

    def _pauses(self, reason, seconds):
        pause = paused(reason, self._steadily("pause", seconds)) + (f" ({self._error})" if self._error else "")
        # Messages that were in flight together report the same pause.
        if self._lines and pause != self._pause:
            self._pause = pause
            self.say(f"paused: {pause}")

    def _line(self, progress):
        finishes = self._steadily("finish", progress["finishes_in"])
        at = f"; {finish(finishes)}" if finishes is not None and progress["left"] else ""
        if sentence(progress) != self._last_line:
            self._last_line = sentence(progress)
            self.say(self._last_line + at)

    def _draw(self, progress):
        self._style = self._style or style_for(self._stream)
        self._turn += 1
        notes, pause = [], progress["pause"]
        until = self._steadily("pause", pause and pause["seconds"])
        if pause:
            notes.append((f"paused: {paused(pause['reason'], until)}", "yellow"))
            if self._error:
                notes.append((self._error, "yellow"))
        finishes = self._steadily("finish", progress["finishes_in"] if progress["left"] else None)
        columns, rows = self._size()
        if columns != self._width:
            # A terminal joins lines that it has wrapped when it becomes wider again, unless they were erased.
            self._erase()
            self._width = columns
        try:
            lines = frame(progress, self._style, self._turn, columns, rows, finishes, notes)
            shown = [self._style.styled(*line) for line in lines]
        except Exception:  # a version of rich that we do not know
            if isinstance(self._style, Plain):
                raise
            self._style = Plain()
            return
        up = f"\x1b[{len(shown) - 1}A" if len(shown) > 1 else ""
        text = "\x1b[K\r\n".join(shown)
        waiting, self._waiting = self._waiting and ERASE + self._waiting, ""
        self._drawn, self._drawn_at = True, time.monotonic()
        write(self._stream, f"{waiting}\x1b[?7l\r{text}\x1b[J{up}\r\x1b[?7h")

    def _steadily(self, name, seconds):
        """The time that many seconds from now; the time on display, if the two are close."""
        if seconds is None:
            self._steady.pop(name, None)
            return None
        at = time.time() + seconds
        if abs(at - self._steady.get(name, float("-inf"))) > STEADY[name]:
            self._steady[name] = at
        return self._steady[name]

    def _size(self):
        try:
            size = os.get_terminal_size(self._stream.fileno())
        except (OSError, ValueError):
            return 80, 24
        return size.columns or 80, size.lines or 24

    def _print(self, text):
        if self._drawn:
            self._waiting += text
        else:
            super()._print(text)

    def _erase(self):
        if self._drawn:
            waiting, self._drawn, self._waiting = self._waiting, False, ""
            write(self._stream, ERASE + waiting)
