"""What is told of a batch on stderr: lines that live on a terminal, plain lines elsewhere, or events for programs."""

import json
import os
import time

from ._batch_words import finish, frame, paused, plural, recovered, sentence, trouble_with
from ._json_events import JsonEvents
from ._progress import REDRAW_SECONDS, Plain, Progress, looks_for, printable, write

#: Without a live terminal: how far the batch is, no more often than this.
LINE_SECONDS = 60.0
#: After something else was written to the terminal the lines come back so soon, but no more often.
CLEARED_SECONDS = 0.02
#: A reader of stdout has so long to write to the terminal what it makes of an outcome; but the lines are never away for longer
#: than the second of these.
READER_SECONDS, LONGEST_SECONDS = 0.04, 0.3
#: A new estimate of a time is not shown if it is this near to the one that is: the clock shall not tremble.
STEADY = {"pause": 1.5, "finish": 30.0}
#: The end of the screen is erased from where the batch's lines begin; the cursor rests there.
WIPE = "\r\x1b[J"
LEFT = "left at once; the next run names what was on its way"


def report_for(options):
    return BatchEvents() if options.json_events else BatchProgress(quiet=options.quiet)


class BatchProgress(Progress):
    """A batch for a person. Everything happens on the thread that steps the batch.

    The live lines are drawn over each other with the cursor at the beginning of the first: wherever a terminal that becomes
    narrower wraps them, they lie below it, and are erased with it. While they are written nothing can wrap, for that is
    switched off, and on again in the same write.
    """

    def __init__(self, quiet=False):
        super().__init__(quiet=quiet)
        self._looks = None
        self._turn = 0
        self._due = None  # when the next frame, or line, is
        self._told = None  # the counts of the last line
        self._pause = None  # what was told of a pause
        self._error = None  # the trouble behind it
        self._steady = {}
        self._drawn_at = 0.0
        self._width = None  # how wide the terminal was then
        self._waits = ""  # what is told with the next frame, in one write: no moment is without the lines

    def begins(self, progress, earlier):
        done = f"; {earlier} done by earlier runs" if earlier else ""
        self.say(plural(progress["items"], "message") + done)
        if progress["pause"]:  # an earlier run's
            self._pauses(**progress["pause"])
        self._due = time.monotonic() + (REDRAW_SECONDS if self._live else LINE_SECONDS)

    def on_update(self, update):
        if update["event"] == "recovered":
            self.say(recovered(update))
        elif update["event"] == "resumed":
            self._error = self._pause = None
            if self._lines:
                self.say("going on")
        elif update["event"] == "paused":
            # Of an allowance that is used up the reason says it all.
            self._error = printable(str(update["error"])) if update["reason"] == "service_failure" else None
            self._pauses(update["reason"], update["pause"])

    def outcome(self, outcome):
        """A message has its outcome. What earlier runs told of is not told again."""
        trouble = None if outcome["earlier"] else trouble_with(outcome)
        if trouble is not None:
            self.say(trouble)

    def tick(self, progress):
        """Draws what is due. progress: a function that tells it."""
        if self._due is None or time.monotonic() < self._due:
            return
        if self._live:
            self._due = time.monotonic() + REDRAW_SECONDS
            self._draw(progress())
        elif self._lines:
            self._due = time.monotonic() + LINE_SECONDS
            self._line(progress())

    def clear(self, soon):
        """Makes room for what comes to the same terminal by other ways: now, or soon, from a reader of stdout."""
        now = time.monotonic()
        if soon and self._live and self._due is not None:
            self._due = max(self._due, min(now + READER_SECONDS, self._drawn_at + LONGEST_SECONDS))
        elif self._drawn:
            self._due = min(self._due, self._drawn_at + CLEARED_SECONDS)
        self._wipe()

    def stopping(self, progress, signal_name):
        again = "Ctrl-C again" if signal_name == "SIGINT" else "a second signal"
        sending = progress["sending"]
        on_way = f"{plural(sending, 'message')} {'is' if sending == 1 else 'are'} on {'its' if sending == 1 else 'their'} way"
        self.say(f"stopping: {on_way if sending else 'no message is on its way'}; {again} leaves at once")

    def leaving(self):
        """What to write, by whatever way, when the terminal is somebody else's at once."""
        told, self._drawn, self._waits = (WIPE if self._drawn else "") + self._waits, False, ""
        return told

    def left(self):
        """What to write after that when the process ends with messages on their way."""
        return f"agentjob: {LEFT}\n"

    def end(self):
        self._wipe()
        super().end()

    def summary(self, summary):
        self.end()
        if not self._quiet or summary.status:
            self._tell("".join(f"agentjob: {line}\n" for line in summary.lines()))

    def _pauses(self, reason, seconds):
        words = paused(reason, self._steadily("pause", seconds)) + (f" ({self._error})" if self._error else "")
        # Messages that were under way together make it together.
        if self._lines and words != self._pause:
            self._pause = words
            self.say(f"paused: {words}")

    def _line(self, progress):
        finishes = self._steadily("finish", progress["finishes_in"])
        at = f"; {finish(finishes)}" if finishes is not None and progress["left"] else ""
        if sentence(progress) != self._told:
            self._told = sentence(progress)
            self.say(self._told + at)

    def _draw(self, progress):
        self._looks = self._looks or looks_for(self._stream)
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
            # A terminal that has wrapped the lines remembers that they belong together; one that is erased is a new one.
            self._wipe()
            self._width = columns
        try:
            lines = frame(progress, self._looks, self._turn, columns, rows, finishes, notes)
            shown = [self._looks.styled(*line) for line in lines]
        except Exception:  # a rich that is not as we know it
            if isinstance(self._looks, Plain):
                raise
            self._looks = Plain()
            return
        up = f"\x1b[{len(shown) - 1}A" if len(shown) > 1 else ""
        text = "\x1b[K\r\n".join(shown)
        told, self._waits = self._waits and WIPE + self._waits, ""
        self._drawn, self._drawn_at = True, time.monotonic()
        write(self._stream, f"{told}\x1b[?7l\r{text}\x1b[J{up}\r\x1b[?7h")

    def _steadily(self, name, seconds):
        """The time that is so far away; the one that was told before, if that is near."""
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

    def _tell(self, text):
        if self._drawn:
            self._waits += text
        else:
            super()._tell(text)

    def _wipe(self):
        if self._drawn:
            told, self._drawn, self._waits = self._waits, False, ""
            write(self._stream, WIPE + told)


class BatchEvents(JsonEvents):
    """A batch for a program: its updates, and how it begins, stops and ends."""

    def begins(self, progress, earlier):
        self.on_event({"event": "begin", "earlier": earlier, "progress": progress})

    def on_update(self, update):
        if "error" in update:
            update = {**update, "error": error_facts(update["error"])}
        self.on_event(update)

    def outcome(self, outcome):
        pass  # stdout has it

    def tick(self, progress):
        pass

    def clear(self, soon):
        pass

    def stopping(self, progress, signal_name):
        self.on_event({"event": "stopping", "signal": signal_name, "progress": progress})

    def leaving(self):
        return ""

    def left(self):
        return json.dumps({"event": "left", "message": LEFT}) + "\n"

    def summary(self, summary):
        self.on_event({"event": "summary", **summary.facts()})


def error_facts(error):
    """An error as an object, for JSON."""
    return None if error is None else {name: getattr(error, name) for name in ("kind", "message", "delivery", "http_status")}
