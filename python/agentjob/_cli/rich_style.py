"""The live line's style if rich is installed (the extra agentjob[cli]). Loaded only for a live terminal.

rich styles the line, and `progress` writes it. rich's own live display hides the cursor, which stays hidden in the shell after
Ctrl-Z or a kill, and it draws from a thread whose errors are tracebacks.
"""

import os

from rich.console import Console
from rich.text import Text

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
COLOURS = {"active": "cyan", "completed": "green", "archived": "green", "failed": "red"}


class Styled:
    """Styles the parts of a line for one terminal. rich finds out which colours the terminal has."""

    def __init__(self, stream):
        # An empty variable counts as not set. rich takes an empty FORCE_COLOR for "no terminal", and before 14 an empty NO_COLOR for
        # "no colours".
        plain, is_terminal = bool(os.environ.get("NO_COLOR")), True if os.environ.get("FORCE_COLOR") == "" else None
        self._console = Console(file=stream, highlight=False, no_color=plain, force_terminal=is_terminal)
        utf = self._console.encoding.lower().startswith("utf")
        self.frames = FRAMES if utf else "|/-\\"
        self.bar = "━━─" if utf else "#=-"

    def line(self, frame, state, times, failing):
        colour = "yellow" if failing else COLOURS.get(state, "")
        return self.styled((frame, "bold blue"), (" ", ""), (state, colour), (times, "dim"))

    def styled(self, *parts):
        """One line of (text, style) parts."""
        # A Text does not interpret markup in what the service sent.
        with self._console.capture() as styled:
            self._console.print(Text.assemble(*parts), end="", soft_wrap=True)
        return styled.get()
