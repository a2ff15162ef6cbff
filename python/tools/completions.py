"""Generates the scripts of `agentjob completion` with shtab, from the command line's own parser.

    build/venv/bin/python python/tools/completions.py

The scripts are committed, because a package is also built where shtab is not installed. A test compares them with what this would
write.
"""

import importlib.metadata
from pathlib import Path

import shtab

from agentjob._cli.arguments import SHELLS, parser

FOLDER = Path(__file__).parents[1] / "agentjob" / "_cli" / "completions"
#: The metavars that stand for a file.
FILES = ("FILE", "RUN")


def script(shell):
    """The script for one shell."""
    top = parser()
    prepare(top)
    return shtab.complete(top, shell)


def prepare(command):
    """Completes what stands for a file, here and in the commands of a group."""
    for action in command._actions:
        if action.metavar in FILES:
            action.complete = shtab.FILE
        elif action.metavar == "COMMAND":
            action.help = "command"  # the help lists the commands in its description instead
            for sub in action.choices.values():
                prepare(sub)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for shell in SHELLS:
        (FOLDER / f"agentjob.{shell}").write_text(script(shell), "utf-8")
    print(f"shtab {importlib.metadata.version('shtab')}: {', '.join(SHELLS)}")
