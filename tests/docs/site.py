"""Hooks of mkdocs for the site: pages that are made from the code, and links that leave docs/.

mkdocs calls the functions that begin with `on_`, see mkdocs.yml. The page of the command line ends with every command and flag, from
its parser.
"""

import argparse
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python" / "tools"))
from commands import commands, first_upper  # noqa: E402

from agentjob._cli.flags import SETTINGS_GROUPS  # noqa: E402

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
    if page.file.src_uri == "reference/settings.md":
        page.meta["search"] = {"boost": 3}  # every how-to names a variable, and this page says what it is
    if page.file.src_uri == "reference/command-line.md":
        markdown, mark, _ = markdown.partition("<!-- commands -->")
        assert mark, "the page has no place for the commands"
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
    """Every command, and every flag as an entry of its own: those that several commands have once, at the end."""
    page, shared = [], {title: {} for title in SETTINGS_GROUPS}
    for name, command in commands():
        short = name.removeprefix("agentjob").strip()
        page += [f"### {name}\n", sentence(command.description.split("\n\n")[0]) + "\n"]
        page += ["```text", command.format_usage().removeprefix("usage: ").strip(), "```\n"]
        also = []
        for group in command._action_groups:
            if group.title in shared:
                also.append(f"[{group.title}](#{group.title})")
            for flag in group._group_actions:
                if group.title in shared:
                    shared[group.title].setdefault(flag.dest, (flag, []))[1].append(f"`{short}`")
                else:
                    page += entry(flag, short.split())
        if also:
            page += [f"It also has the flags of {' and '.join(also)}.\n"]
    for title, flags in shared.items():
        all_commands = max((having for _, having in flags.values()), key=len)
        page += [f"### {first_upper(title)}\n", f"Flags of {', '.join(all_commands)}. `agentjob help settings` shows them, too.\n"]
        for flag, having in flags.values():
            page += entry(flag, [title])
            if having != all_commands:
                page += [f"Only {', '.join(having)}.\n"]
    return "\n".join(page)


def entry(flag, place):
    """A flag, or an argument, as an entry of its own."""
    if flag.help == argparse.SUPPRESS or isinstance(flag, argparse._HelpAction):
        return
    value = "" if flag.nargs == 0 else f" {flag.metavar}"
    title = ", ".join(f"`{name}{value}`" for name in flag.option_strings) or f"`{flag.metavar}`"
    slug = "-".join([*place, (flag.option_strings or [flag.dest])[-1].strip("-")])
    yield f"#### {title} {{ #{slug} }}\n"
    yield sentence(flag.help) + "\n"


def sentence(text):
    """A flag's help as a sentence; what looks like a tag is text."""
    text = " ".join(text.replace("%%", "%").replace("<", "&lt;").split())
    return first_upper(text) + ("" if text.endswith(".") else ".")
