"""Hooks of mkdocs for the site: pages that are made from the code, and links that leave docs/.

mkdocs calls the functions that begin with `on_`, see mkdocs.yml. The page of the command line is made from the parser, so it has every
flag and cannot have another one.
"""

import argparse
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

from agentjob._cli.arguments import parser
from agentjob._cli.help import ABOUT, COMMANDS

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Pages whose text stands elsewhere in the repository.
PAGES = {
    "reference/emulator.md": "tests/emulator/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
    "explanation/results.md": "tests/bench/RESULTS.md",
}
#: The pictures of the race.
PLOTS = "tests/bench/plots"
#: Where files of the repository that are no pages are shown.
REPOSITORY = re.search(r'^repository = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.M)[1] + "/blob/main"


def on_files(files, config):
    for page, source in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for picture in (ROOT / PLOTS).glob("*.svg"):
        files.append(File.generated(config, f"plots/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown, page, config, files):
    """A link to a file outside docs/ works in a clone; on the site it leads to the repository."""
    source = posixpath.join("docs", page.file.src_uri)
    if page.file.src_uri == "reference/command-line.md":
        markdown += command_line()
    folder = posixpath.dirname(PAGES.get(page.file.src_uri, source))

    def to_repository(link):
        path = posixpath.normpath(posixpath.join(folder, link[2]))
        there = {source: made for made, source in PAGES.items()}.get(path)
        if path.startswith(PLOTS):
            there = path.replace(PLOTS, "plots")
        if not there and path.startswith("docs/") and (ROOT / path).is_file():
            there = path.removeprefix("docs/")
        if there:
            return f"{link[1]}({posixpath.relpath(there, posixpath.dirname(page.file.src_uri))}{link[3] or ''})"
        if not (ROOT / path).exists():
            return link[0]
        return f"{link[1]}({REPOSITORY}/{path}{link[3] or ''})"

    outside_code = re.split(r"(^```.*?^```$)", markdown, flags=re.M | re.S)
    outside_code[::2] = [re.sub(r"(\[[^\]]*\])\(((?!\w+:)[^)#\s]+)(#[^)]*)?\)", to_repository, part) for part in outside_code[::2]]
    return "".join(outside_code)


def command_line():
    """Every command with every flag, each as an entry of its own."""
    page = []
    for name, command in commands(parser()):
        page += [f"## agentjob {name}\n", COMMANDS.get(name, command.description or "").strip().capitalize() + ".\n"]
        usage = command.format_usage().removeprefix("usage: ").strip()
        page += ["```text", usage, "```\n"]
        for action in command._actions:
            if action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction):
                continue
            title = ", ".join(f"`{flag}{argument(action)}`" for flag in action.option_strings) or f"`{action.metavar or action.dest}`"
            slug = "-".join([*name.split(), (action.option_strings or [action.dest])[-1].strip("-")])
            page += [f"### {title} {{ #{slug} }}\n", sentence(action.help or "") + "\n"]
    return "\n".join(page)


def commands(top, prefix=""):
    """The commands, those of a group as "batch run"."""
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                inner = list(commands(command, f"{prefix}{name} "))
                yield from inner or [(prefix + name, command)]


def argument(action):
    return "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"


def sentence(text):
    """A flag's help as a sentence; what looks like a tag is text."""
    text = text.replace("%%", "%").replace("<", "&lt;")
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
