"""Writes the manual pages of the command line, from its own parser, as `agentjob-batch-run.1` and so on.

    build/docs/venv/bin/python python/tools/man.py FOLDER

`make docs` writes them to build/man. argparse-manpage makes the pages.
"""

import sys
from pathlib import Path

from argparse_manpage.manpage import Manpage

from agentjob import __version__
from agentjob._cli.arguments import parser


def commands(top, name="agentjob"):
    """Every command with its parser, the top one first."""
    yield name, top
    for action in top._actions:
        if action.metavar == "COMMAND":
            for sub, inner in action.choices.items():
                yield from commands(inner, f"{name} {sub}")


def page(name, command):
    """One command's page, without a date: the same parser makes the same page."""
    command.prog = name.replace(" ", "-")
    command.man_short_description = first_sentence(command.description or name)
    manual = Manpage(command, format="single-commands-section")
    head = f'.TH {name.replace(" ", "-").upper()} "1" "" "agentjob {__version__}" "agentjob"'
    return "\n".join([head, *str(manual).splitlines()[1:], ""])


def first_sentence(text):
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].rstrip(".:")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in commands(parser()):
        (folder / f"{name.replace(' ', '-')}.1").write_text(page(name, command), "utf-8")


if __name__ == "__main__":
    main()
