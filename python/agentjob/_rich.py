"""The live line's looks where rich is installed, as by the extra agentjob[cli]. Loaded only for a terminal that lives.

rich styles the line; `_progress` puts it on the terminal. rich's own live display hides the cursor, which stays hidden in
the shell after Ctrl-Z or a kill, and draws from a thread whose errors are tracebacks.
"""

from rich.console import Console
from rich.text import Text

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
COLOURS = {"active": "cyan", "completed": "green", "archived": "green", "failed": "red"}


class Styled:
    """Styles the parts of a line for one terminal: NO_COLOR, and what colours it has, are rich's to know."""

    def __init__(self, stream):
        self._console = Console(file=stream, highlight=False)
        utf = self._console.encoding.lower().startswith("utf")
        self.frames = FRAMES if utf else "|/-\\"
        self.bar = "━━─" if utf else "#=-"

    def line(self, frame, state, times, trouble):
        colour = "yellow" if trouble else COLOURS.get(state, "")
        return self.styled((frame, "bold blue"), (" ", ""), (state, colour), (times, "dim"))

    def styled(self, *parts):
        """One line of (words, style)."""
        # A Text takes words as they are: what the service says is no markup.
        with self._console.capture() as styled:
            self._console.print(Text.assemble(*parts), end="", soft_wrap=True)
        return styled.get()
