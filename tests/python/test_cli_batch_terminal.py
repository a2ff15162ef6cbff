"""`agentjob batch run` in a terminal: what a person sees at each moment, on a screen that does what a terminal does."""

import io
import itertools
import json
import re
import statistics
import sys
import time

import pytest

from agentjob._cli.batch.display import BatchProgress
from agentjob._cli.batch.describe import clock, finish
from agentjob._cli.batch.frame import frame
from agentjob._cli.terminal import Plain
from conftest import PATIENCE, tried, wait_for
from test_cli import QUICK
from test_cli_batch import STALL, folder, messages, service  # noqa: F401 (a fixture)
from test_cli_terminal import Terminal, style, plain  # noqa: F401 (a fixture)

COMMAND = ("batch", "run", "messages.jsonl", "--journal", "night")
SEQUENCE = re.compile(r"\x1b\[(\??)([\d;]*)([A-Za-z])|(.)", re.S)
#: What every frame ends with.
DRAWN = "\x1b[?7h"


class Screen:
    """What a terminal shows, line by line; it never scrolls."""

    def __init__(self, columns):
        self.columns, self.lines, self.row, self.column, self.wraps = columns, [""], 0, 0, True
        self.frames = []  # what it showed after each frame

    def feed(self, text):
        for private, number, letter, char in SEQUENCE.findall(text):
            if char:
                self._put(char)
            elif private:
                assert number == "7" and letter in "hl", "nothing is switched but wrapping"
                self.wraps = letter == "h"
                if self.wraps:
                    self.frames.append([line.rstrip() for line in self.lines])
            elif letter in "KJ":
                self.lines[self.row] = self.lines[self.row][: self.column]
                del self.lines[self.row + 1 if letter == "J" else len(self.lines) :]
            elif letter == "A":
                self.row -= int(number)
                assert self.row >= 0
            else:
                assert letter == "m", f"{letter} is nothing that a terminal must know"
        return self

    def _put(self, char):
        if char == "\r":
            self.column = 0
            return
        if char == "\n" or self.column == self.columns:
            assert char == "\n" or self.wraps, "a line of a frame is too long"
            self.row, self.column = self.row + 1, self.column if char == "\n" else 0
            self.lines += [""] * (self.row - len(self.lines) + 1)
            if char == "\n":
                return
        line = self.lines[self.row].ljust(self.column)
        self.lines[self.row] = line[: self.column] + char + line[self.column + 1 :]
        self.column += 1


def seen(shown, columns=80):
    return Screen(columns).feed(shown)


@pytest.mark.parametrize("columns", [100, 36])
def test_the_live_lines_are_updated_in_place_and_erased(columns, folder, style):
    def attempt(_):
        (folder / "night").unlink(missing_ok=True)
        the_live_lines_are_updated(columns, style)

    tried(5, attempt)


def the_live_lines_are_updated(columns, style):
    messages(30)
    with service(30, rules=[{"path": "/v2/agent/demo/job/job_3/message", "status": 404}]) as emulator:
        terminal = Terminal(emulator, *COMMAND, "--rate", "10/s", "--wait", *QUICK, columns=columns, **style)
        out, shown = terminal.read()
    assert terminal.process.returncode == 3 and len(out.splitlines()) == 30
    screen = seen(shown, columns)
    assert len(screen.frames) >= 12
    for lines in screen.frames:
        assert lines[0] == "agentjob: 30 messages"
        assert sum(bool(re.search(r"\d+/30", line)) for line in lines) == 1, "one frame at a time"
    middle = [" ".join(" ".join(lines).split()) for lines in screen.frames]
    counts = [re.search(r"(\d+)/30 (\d+) %.*?(\d+) accepted 1 rejected (\d+) left", text) for text in middle]
    counts = [tuple(map(int, found.groups())) for found in counts if found]
    assert any(0 < done < 30 for done, *_ in counts), middle
    for done, percent, accepted, left in counts:
        assert percent == done * 100 // 30 and done <= accepted + 1 == 30 - left
    text = "".join(line.ljust(columns) if len(line) == columns else line + "\n" for line in screen.lines)
    assert "%" not in text and "agentjob: 30 messages: 29 accepted, 1 rejected, 0 left\n" in text
    drawn = [at for at, piece in terminal.writes if DRAWN.encode() in piece]
    assert statistics.median(b - a for a, b in zip(drawn, drawn[1:])) <= 0.15
    assert bool(re.search(r"\x1b\[[\d;]*m", shown)) == (not style)


def test_ctrl_c_leaves_a_clean_terminal(folder, style):
    messages(9)
    with service(9, rules=[STALL]) as emulator:
        terminal = Terminal(emulator, *COMMAND, "--concurrency", "2", "--grace", "0.5", **style)
        # The third and fourth message arrive when the outcomes of the first two are recorded.
        wait_for(lambda: emulator.requests()["total"] == 4, "two messages are accepted, and two are in flight")
        terminal.press_ctrl_c()
        _, shown = terminal.read()
    assert terminal.process.returncode == 130 and "\x1b[?25l" not in shown, "the cursor was never hidden"
    lines = [line.rstrip() for line in seen(shown).lines]
    assert lines[:2] == [
        "agentjob: 9 messages",
        "agentjob: stopping: 2 messages in flight; Ctrl-C again exits at once",
    ]
    assert "agentjob: 9 messages: 2 accepted, 2 unknown, 5 left" in lines and not any("%" in line for line in lines)
    assert lines[-2:] == ["  agentjob batch run messages.jsonl --journal night --concurrency 2 --grace 0.5", ""]


def test_ctrl_c_before_the_first_frame_leaves_no_echo(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr("agentjob._cli.progress.is_live", lambda stream: True)
    report = BatchProgress()
    report.begins({**PROGRESS, "pause": None}, 0)
    sys.stderr.write("^C")
    report.stopping(PROGRESS, "SIGINT")
    assert seen(sys.stderr.getvalue()).lines == [
        "agentjob: 300 messages",
        "agentjob: stopping: 4 messages in flight; Ctrl-C again exits at once",
        "",
    ]


def test_ctrl_c_twice_leaves_at_once(folder, style):
    messages(9)
    with service(9, rules=[STALL]) as emulator:
        terminal = Terminal(emulator, *COMMAND, "--grace", str(4 * PATIENCE), **style)
        terminal.read_until("4 in flight")
        terminal.press_ctrl_c()
        terminal.read_until("exits at once")
        time.sleep(0.3)  # else it would be taken for the first one's echo
        began = time.monotonic()
        terminal.press_ctrl_c()
        _, shown = terminal.read()
    assert terminal.process.returncode == 130 and time.monotonic() - began < PATIENCE
    assert [line.rstrip() for line in seen(shown).lines][-2:] == [
        "agentjob: exited at once; the next run lists the messages that were in flight",
        "",
    ]


def test_ctrl_z_erases_the_live_lines(folder, style):
    messages(12)
    with service(12) as emulator:
        terminal = Terminal(emulator, *COMMAND, "--rate", "3/s", **style)
        terminal.read_until("3/12")  # and there are three seconds left for it to be pressed and wiped
        terminal.press_ctrl_z()  # which stops nothing here, because there is no shell to continue from
        _, shown = terminal.read()
    assert terminal.process.returncode == 0
    assert [line.rstrip() for line in seen(shown).lines] == [
        "agentjob: 12 messages",
        "agentjob: 12 messages: 12 accepted, 0 left",
        "",
    ]


def test_a_pause_shows_its_reason_and_its_end(folder, style):
    messages(5)
    with service(5, hourly_limit=2) as emulator:
        terminal = Terminal(emulator, *COMMAND, columns=40, **style)
        paused = re.compile(r"3 left paused: rate limited until (\w+ )?\d\d:\d\d:\d\d")

        def says_so(shown):
            return any(paused.search(" ".join(" ".join(lines).split())) for lines in seen(shown, 40).frames)

        terminal.read_until_it(says_so)
        terminal.press_ctrl_c()
        terminal.read()
    assert terminal.process.returncode == 130


def complete(shown):
    """The lines of each frame that was drawn to its end."""
    drawings = [drawing.partition("\x1b[?7l")[2] for drawing in shown.split(DRAWN)[1:-1]]
    return [plain(drawing).replace("\x1b[K", "").replace("\x1b[J", "").split("\r\n")[:-1] for drawing in drawings]


def is_wide(lines):
    return any(len(line.strip("\r")) >= 24 for line in lines)


def test_a_terminal_that_becomes_narrower_stays_readable(folder, style):
    messages(40)
    with service(40) as emulator:
        terminal = Terminal(emulator, *COMMAND, "--rate", "20/h", **style)
        terminal.read_until("20/40")
        before = len(terminal.shown)
        terminal.resize(24)
        # Frames that were written before are still to be read.
        terminal.read_until_it(lambda shown: sum(not is_wide(lines) for lines in complete(shown[before:])) >= 3)
        shown = terminal.shown[before:]
        terminal.press_ctrl_c()
        terminal.read()
    assert terminal.process.returncode == 130
    # From the first narrow one on.
    frames = list(itertools.dropwhile(is_wide, complete(shown)))
    assert frames and not any(map(is_wide, frames)), frames


def test_outcomes_on_the_same_terminal_stand_between_the_lines(folder, style):
    messages(12)
    with service(12) as emulator:
        terminal = Terminal(emulator, *COMMAND, "--rate", "6/s", "--json", columns=2000, stdout=None, **style)
        _, shown = terminal.read()
        screen = seen(shown, 2000)
        outcomes = [json.loads(line) for line in screen.lines if line.startswith("{")]
        assert sorted(outcome["line"] for outcome in outcomes) == list(range(1, 13))
        assert not any("%" in line for line in screen.lines) and any("%" in line for line in screen.frames[0])
        for term in ("xterm", "dumb"):
            _, shown = Terminal(emulator, *COMMAND, stdout=None, TERM=term, **style).read()
            assert "{" not in shown, "a person did not ask for them"


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_lines(term, folder, style):
    messages(8)
    with service(8) as emulator:
        _, shown = Terminal(emulator, *COMMAND, "--rate", "4/s", TERM=term, **style).read()
    assert shown == "agentjob: 8 messages\r\nagentjob: 8 messages: 8 accepted, 0 left\r\n"


def test_no_colours_where_they_are_not_wanted(folder):
    pytest.importorskip("rich")
    messages(8)
    with service(8) as emulator:
        _, shown = Terminal(emulator, *COMMAND, "--rate", "4/s", NO_COLOR="1").read()
    assert "4/8" in plain(shown) and not re.search(r"\x1b\[[0-9;]*3[0-7]m", shown)


def test_quiet_draws_nothing(folder):
    messages(8)
    with service(8) as emulator:
        assert Terminal(emulator, *COMMAND, "--rate", "4/s", "--quiet").read()[1] == ""


PROGRESS = {"items": 300, "accepted": 128, "rejected": 3, "unknown": 1, "left": 168, "sending": 4, "waiting": 12, "busy": 0, "dropped": 0, "done": 120}


@pytest.mark.parametrize("columns", [*range(1, 12), 17, 33, 41, 60, 80, 200])
def test_a_frame_fits_any_terminal(columns):
    note = ("paused: rate limited until 02:15:10", "")
    for rows in (1, 2, 5, 24):
        lines = frame(PROGRESS, Plain(), 7, columns, rows, time.time() + 500, [note])
        shown = [Plain().styled(*line) for line in lines]
        assert len(shown) <= max(rows - 1, 1) and all(len(line) <= max(columns - 1, 1) for line in shown)
        if columns >= 17 and rows == 24:
            words = " ".join(" ".join(shown).split())
            assert "120/300" in words and "128 accepted 3 rejected 1 unknown 168 left 4 in flight 12 waiting" in words
            assert words.endswith("until 02:15:10")


def test_without_a_terminal_a_line_reports_each_change(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr("agentjob._cli.batch.display.LINE_SECONDS", 0.0)
    report = BatchProgress()
    progress = {**PROGRESS, "pause": None, "finishes_in": 30}
    report.begins(progress, 120)
    for _ in range(3):
        report.tick(lambda: progress)
    counts = "128 accepted, 3 rejected, 1 unknown, 168 left, 4 in flight, 12 waiting; all sent within a minute"
    assert sys.stderr.getvalue().splitlines() == [
        "agentjob: 300 messages; 120 already have outcomes from earlier runs",
        f"agentjob: 300 messages: {counts}",
    ]
    report.tick(lambda: {**progress, "accepted": 129})
    assert sys.stderr.getvalue().count("\n") == 3


def test_a_time_to_come_has_its_day_when_it_is_not_today_s():
    now = time.mktime((2026, 7, 14, 20, 0, 0, 0, 0, -1))
    assert clock(now + 7.5 * 3600, now=now) == "03:30"
    assert clock(now + 15 * 60, True, now) == "20:15:00"
    assert re.fullmatch(r"\w+ 21:00", clock(now + 25 * 3600, now=now))
    assert clock(now + 10 * 24 * 3600, now=now) == "2026-07-24 20:00"
    assert finish(now + 7.5 * 3600, now) == "all sent by about 03:30"
    assert finish(now + 59, now) == "all sent within a minute"
