"""The command line in a terminal: a real one, of which the test has the other end, with rich and without."""

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unicodedata

import pytest

from agentjob.testing import Emulator
from conftest import BUSY, PATIENCE, tried
from test_cli import QUICK, start

WIPE = "\r\x1b[K"
#: Makes stderr the terminal that Ctrl-C comes from, then becomes the command.
IN_FRONT = "import fcntl, os, sys, termios; fcntl.ioctl(2, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"


class Terminal:
    """A command whose stderr is a terminal; so is its stdout, if that is None."""

    def __init__(self, emulator, *words, columns=80, stdout=subprocess.PIPE, **environment):
        self._master, slave = pty.openpty()
        self.resize(columns)
        environment = {"TERM": "xterm-256color", "COLUMNS": "999", "PYTHONIOENCODING": "utf-8", **environment}
        command = [sys.executable, "-c", IN_FRONT, sys.executable, "-m", "agentjob", *words]
        stdout = slave if stdout is None else stdout
        self.process = start(emulator, command=command, stdout=stdout, stderr=slave, start_new_session=True, env=environment)
        os.close(slave)
        self.writes = []  # when, and what

    def resize(self, columns):
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def press_ctrl_c(self):
        os.write(self._master, b"\x03")

    def press_ctrl_z(self):
        os.write(self._master, b"\x1a")

    def read_until(self, words):
        self.read_until_it(lambda shown: words in plain(shown))

    def read_until_it(self, shows):
        """Reads on until what was shown so far does, says this function."""
        while not shows(self.shown):
            assert self._read(), f"it ended too early: {self.shown!r}"

    def read(self):
        """What it printed on stdout, and everything that it showed."""
        while self._read():
            pass
        os.close(self._master)
        return self.process.communicate(timeout=PATIENCE)[0], self.shown

    @property
    def shown(self):
        return b"".join(piece for _, piece in self.writes).decode("utf-8", "replace")

    def _read(self):
        if not select.select([self._master], [], [], PATIENCE)[0]:
            self.process.kill()
            raise AssertionError("the terminal fell silent")
        try:
            piece = os.read(self._master, 65536)
        except OSError:
            piece = b""
        self.writes.append((time.monotonic(), piece))
        return piece


def glimpse(emulator, *words, seen, **environment):
    """What a command showed until these words; then Ctrl-C ends it."""
    terminal = Terminal(emulator, *words, **environment)
    terminal.read_until(seen)
    shown = terminal.shown
    terminal.press_ctrl_c()
    terminal.read()
    assert terminal.process.returncode == 130
    return shown


@pytest.fixture(params=["rich", "plain"])
def style(request, tmp_path):
    """The environment of a command that finds rich, and of one that does not."""
    if request.param == "rich":
        pytest.importorskip("rich")
        return {}
    return rich_that_is("raise ImportError('it is not here')", tmp_path)


def rich_that_is(source, folder):
    (folder / "rich").mkdir()
    (folder / "rich" / "__init__.py").write_text(source)
    return {"PYTHONPATH": str(folder)}


def plain(shown):
    """Without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", shown)


def drawn(shown):
    """Each version of the live line, as a person reads it."""
    return [line for line in plain(shown).split(WIPE) if line]


def width(line):
    return sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in line)


def test_the_live_line_is_updated_in_place_and_erased(style):
    tried(5, lambda _: the_live_line_lives(style))


def the_live_line_lives(style):
    with Emulator(work_ms=2500) as emulator:
        terminal = Terminal(emulator, "send", "job_demo", "go", "--wait", "--min-interval", "0.5", columns=36, **style)
        out, shown = terminal.read()
    assert json.loads(out)["status"] == "completed" and terminal.process.returncode == 0
    lines = drawn(shown)
    assert any("active" in line and "next poll in" in line for line in lines)
    assert all(width(line) < 36 and "\n" not in line for line in lines)
    assert shown.endswith(WIPE), "wiped at the end"
    assert "\x1b" not in plain(shown).replace(WIPE, ""), "nothing but colours and wipes"
    times = [at for at, _ in terminal.writes]
    gaps = sorted(b - a for a, b in zip(times, times[1:]))
    assert len(times) >= 8 and gaps[len(gaps) // 2] <= 0.1, "redrawn at least every 100 ms"
    assert len({line[0] for line in lines}) == (4 if style else 10), "the spinner turns"


def test_ctrl_c_leaves_a_clean_terminal(style):
    with Emulator(jobs=[BUSY]) as emulator:
        terminal = Terminal(emulator, "wait", "job_busy", **style)
        terminal.read_until("next poll in")
        terminal.press_ctrl_c()
        _, shown = terminal.read()
    assert terminal.process.returncode == 130
    before, _, after = plain(shown).rpartition(WIPE)
    assert after.startswith("agentjob: interrupted\r\nto keep waiting:\r\n  agentjob wait --resume '{")
    assert "\x1b" not in after and "\x1b[?25l" not in before, "the cursor was never hidden"


def says(status):
    """An emulator that shows this status."""
    return Emulator(rules=[{"status": 200, "json": {"id": "a", "status": status}}])


def test_a_status_cannot_steer_the_terminal(style):
    with says("[red]odd[/red]\x1b[2J\u009b2J\r\nnext") as emulator:
        shown = glimpse(emulator, "wait", "a", seen="next poll", **style)
    assert "\x1b[2J" not in shown and "\u009b" not in shown and "\n" not in shown
    assert "[red]odd[/red]" in plain(shown)


def test_wide_characters_fit_on_the_line(style):
    with says("作業中" * 20) as emulator:
        shown = glimpse(emulator, "wait", "a", seen="作業中", columns=30, **style)
    assert all(width(line) < 30 for line in drawn(shown))


def test_a_terminal_that_cannot_encode_the_line_gets_replacements(style):
    encoding = {"PYTHONIOENCODING": "ascii:backslashreplace"}
    with says("at_wörk") as emulator:
        shown = glimpse(emulator, "wait", "a", seen="at_w?rk", columns=24, **style, **encoding)
    assert "\\" not in "".join(line[1:] for line in drawn(shown)), "but for the spinner"


COLOURED = [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"FORCE_COLOR": ""}, True)]


@pytest.mark.parametrize(("environment", "coloured"), COLOURED, ids=["colours", "NO_COLOR", "NO_COLOR=", "FORCE_COLOR="])
def test_rich_has_colours_unless_they_are_not_wanted(environment, coloured):
    pytest.importorskip("rich")
    with Emulator(jobs=[BUSY]) as emulator:
        shown = glimpse(emulator, "wait", "job_busy", seen="active", **environment)
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-7]m", shown)) == coloured


ANOTHER = "import sys; sys.modules['rich.console'] = sys.modules['rich.text'] = sys; sys.Console = sys.Text = lambda **_: 1"
FAILING = """if True:
    import sys
    class Console:
        encoding = "utf-8"
        __init__ = lambda *_, **__: None
    sys.modules["rich.console"] = sys.modules["rich.text"] = sys
    sys.Console = sys.Text = Console
"""


ODD = {"empty": "", "broken": "raise RuntimeError('broken')", "another": ANOTHER, "failing": FAILING}


@pytest.mark.parametrize("source", ODD.values(), ids=ODD)
def test_a_rich_that_is_odd_is_done_without(source, tmp_path):
    with Emulator(jobs=[BUSY]) as emulator:
        shown = glimpse(emulator, "wait", "job_busy", seen="active", **rich_that_is(source, tmp_path))
    assert "Traceback" not in shown and {line[0] for line in drawn(shown)} <= set("|/-\\")


@pytest.mark.parametrize("term", ["dumb", "unknown"])
def test_a_dumb_terminal_gets_lines(style, term, emulator):
    _, shown = Terminal(emulator, "send", "job_demo", "go", "--wait", *QUICK, TERM=term, **style).read()
    assert "\x1b" not in shown and re.search(r"agentjob: active \(\d+ s\)\r\n.*completed", shown, re.S)


@pytest.mark.parametrize("flag", ["--quiet", "--json-events"])
def test_quiet_and_events_draw_no_line(flag, emulator):
    words = "send", "job_demo", "go", "--wait", flag, "--min-interval", "0.3"
    _, shown = Terminal(emulator, *words).read()
    assert "\x1b" not in shown and bool(shown) == (flag == "--json-events")


def test_a_command_that_ends_at_once_shows_no_line(style, emulator):
    def attempt(_):
        assert Terminal(emulator, "get", "job_demo", **style).read()[1] == ""

    tried(5, attempt)


def test_a_retry_shows_its_reason_meanwhile(style):
    with Emulator(rules=[{"status": 429, "headers": {"Retry-After": "30"}}]) as emulator:
        shown = glimpse(emulator, "send", "job_demo", "go", seen="next attempt in", **style)
    assert "retrying after" in plain(shown) and "\n" not in shown and all(width(line) < 80 for line in drawn(shown))


def test_other_output_does_not_mix_with_the_line(style):
    def attempt(n):
        # Until then a slow machine has shown that it sends.
        with Emulator(work_ms=300, rules=[{"nth": 1, "status": 200, "delay_ms": 1200 * 3**n}]) as emulator:
            _, shown = Terminal(emulator, "create", "Fix it", "--wait", "--min-interval", "0.2", **style).read()
        assert re.search(r"sending[^\r]*" + re.escape(WIPE) + r"agentjob: created job job_\w+\r\n", plain(shown))

    tried(3, attempt)


def test_rich_is_not_loaded_where_no_line_lives(emulator):
    code = f"""if True:
        import sys
        from agentjob._cli.main import main
        assert main(["send", "job_demo", "go", "--wait", *{QUICK!r}]) == 0
        assert not [name for name in sys.modules if name.partition(".")[0] == "rich"]
    """
    environment = {**os.environ, **emulator.environment()}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
