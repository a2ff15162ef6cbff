#!/usr/bin/env python3
"""Records the README's picture: a terminal in which agentjob runs against the emulator.

    build/docs/venv/bin/python tests/docs/terminal.py

Every line of docs/pictures/terminal.svg is what the command printed in a real terminal (a pty). Run it when what the commands print
has changed.
"""

import os
import pathlib
import pty
import re
import subprocess
import sys
import tempfile

from rich.console import Console
from rich.text import Text

from agentjob.testing import Emulator

PICTURE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pictures" / "terminal.svg"
COLUMNS = 100
LIST = "job_id,prompt,key\njob_123,Add the missing tests,tests\njob_404,Write the docs,docs\n"
COMMANDS = [
    'agentjob send job_123 "Also cover the error cases" --wait --min-interval 0.2 > job.json',
    "python -c 'import json; print(json.load(open(\"job.json\"))[\"prLink\"])'",
    "agentjob batch run night.csv --journal night.journal --rate 100/h > outcomes.jsonl",
    "agentjob batch run night.csv --journal night.journal > again.jsonl    # sends nothing twice",
]


def run(command, folder, environment):
    """What a terminal shows after this command."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(["bash", "-c", command], cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # EIO: the last process that had the terminal has ended
            break
        shown += piece
    process.wait()
    os.close(ours)
    return lines(shown.decode())


def lines(shown):
    """The lines that remain: a line that is drawn again replaces the one before."""
    for line in shown.replace("\r\n", "\n").split("\n"):
        remaining = re.split(r"\r|\x1b\[\d*K", re.sub(r"\x1b\[(?:\?25[lh]|\d*[AB])", "", line))[-1]
        if remaining.strip():
            yield remaining


def main():
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder, Emulator(work_ms=900, jobs=[{"id": "job_123", "status": "completed"}]) as emulator:
        pathlib.Path(folder, "night.csv").write_text(LIST)
        path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        environment = {**os.environ, **emulator.environment(), "PATH": path, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
        for command in COMMANDS:
            console.print(Text("$ ", style="green") + Text(command, style="bold"))
            for line in run(command, folder, environment):
                console.print(Text.from_ansi(line))
    PICTURE.parent.mkdir(exist_ok=True)
    svg = console.export_svg(title="agentjob", unique_id="agentjob")
    # No font from the network: the reader's own.
    PICTURE.write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.S).replace("Fira Code", "ui-monospace, Menlo, Consolas"), "utf-8")


if __name__ == "__main__":
    main()
