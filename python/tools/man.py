"""Writes the manual pages of the command line, from its own parser, as `agentjob-batch-run.1` and so on.

    build/docs/venv/bin/python python/tools/man.py FOLDER

`make man` writes them to build/man. argparse-manpage makes the pages, except for what --help has after the flags.
"""

import re
import sys
from pathlib import Path

from argparse_manpage.manpage import Manpage
from commands import commands

from agentjob import __version__
from agentjob._cli.exit import help_for
from agentjob._cli.flags import SETTINGS_GROUPS
from agentjob._cli.help import EXAMPLES, NOTES, SETTINGS, WAITS


def page(name, command, names):
    """One command's page, without a date: the same parser makes the same page."""
    title, short = name.replace(" ", "-"), name.removeprefix("agentjob").strip()
    groups = {group.title for group in command._action_groups}
    command.prog, command.epilog = title, None
    command.man_short_description = first_sentence(command.description)
    manual = Manpage(command, format="single-commands-section")
    if short in NOTES:
        manual.add_section("notes", "=", to_roff(NOTES[short]))
    if not short or groups & set(SETTINGS_GROUPS):
        manual.add_section("environment", "=", to_roff(SETTINGS))
    if not short or "polling" in groups:
        manual.add_section("environment", ">", "\n" + to_roff(WAITS))
    if short != "emulator":
        manual.add_section("exit status", "=", to_roff(help_for(short)))
    if short in EXAMPLES:
        manual.add_section("examples", "=", f".nf\n{escaped(EXAMPLES[short])}.fi")
    others = [other for other in names if other != title and (other.startswith(title) or title.startswith(other))]
    manual.add_section("see also", "=", ", ".join(rf"\fB{escaped(other)}\fR(1)" for other in others))
    head = f'.TH {title.upper()} "1" "" "agentjob {__version__}" "agentjob"'
    return "\n".join([head, *str(manual).splitlines()[1:], ""])


def to_roff(text):
    """The text of a section of --help: an entry for each line like "  NAME   what it is", and its other lines as they are filled."""
    made, is_new = [], True
    for line in text.splitlines():
        # A name, perhaps several, whose text may begin on the next line.
        entry = re.fullmatch(r"  (\S+) {2,}(.+)|  (\d+) (.+)|  ([A-Z_]+(?:, [A-Z_]+)*)", line)
        if entry:
            name, *what = filter(None, entry.groups())
            made.append("\n".join([f".TP\n\\fB{escaped(name)}\\fR", *map(escaped, what)]))
        elif line.strip():
            begins = is_new or re.match(r"  \S", line)
            made.append((".PP\n" if begins else "") + escaped(line.strip()))
        is_new = not line.strip() or line.endswith(":")
    return "\n".join(made)


def escaped(text):
    """A quote or a full stop at the beginning of a line would be a command of man's."""
    return re.sub(r"^(?=[.'])", r"\\&", text.replace("\\", r"\e").replace("-", r"\-"), flags=re.M)


def first_sentence(text):
    return " ".join(text.split("\n\n")[0].split()).split(". ")[0].rstrip(".:")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pages = dict(commands())
    names = [name.replace(" ", "-") for name in pages]
    for name, command in pages.items():
        (folder / f"{name.replace(' ', '-')}.1").write_text(page(name, command, names), "utf-8")


if __name__ == "__main__":
    main()
