#!/usr/bin/env python3
"""Runs the examples of the documentation, exactly as they are printed, against the emulator.

    run.py --python build/venv/bin/python --emulator target/debug/agentjob-emulator --library dist [PAGE...]

With several --python a page runs with the first that has the packages that it needs.

Each page runs from top to bottom in an empty folder of its own, as a reader would paste it:

- A code block with title="NAME" is written to that file.
- A `sh` block is run by bash, which stops at the first command that fails. Variables and the folder carry over to the next block.
- A `python` block without a title is run as a program.
- A `text` or `json` block right after one of these is what it prints. "…" stands for any text, a line of "…" for any lines.
- Every other block needs a title, or a comment in front of it that says why it is not run.

Comments in a page's source, each on a line of its own:

    <!-- emulator: {"work_ms": 600} -->     configures the page's emulator, whose settings are in the environment
    <!-- without settings -->               the environment has no AGENTJOB_ variable: the page sets them
    <!-- needs: cmake, package fastapi -->  skips the page, visibly, where a program or a Python package is missing
    <!-- not run: because … -->             the next block is only read
    <!-- as: pytest -->                     runs the next block's file with that Python module
    <!-- before: COMMAND -->                runs a command that the reader has no use for, before the next block
    <!-- then: COMMAND -->                  runs a command after the next block's file is written, as to compile it
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: The limit of one block, in seconds. No example needs a tenth of it, but on a busy machine one that compiles needs a minute.
LIMIT = 600
#: A message's work lasts long enough that a poll sees the job active, also on a loaded machine.
EMULATOR = {"work_ms": 600, "jobs": [{"id": "job_123", "status": "completed"}]}
#: Blocks that only show something and are never run.
READ_ONLY = {"text", "json", "html", "diff", "mermaid"}

COMMENT = re.compile(r"^\s*<!-- (emulator|without settings|needs|not run|as|before|then)(?:: *(.*?))? -->\s*$")
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[\w+-]*)(?P<rest>.*)$")


class Block:
    """One code block of a page."""

    def __init__(self, line, language, title, text, comments):
        self.line, self.language, self.title, self.text = line, language, title, text
        self.comments = comments
        self.prints = None


class Failed(Exception):
    """A page does not do what it prints."""


def read(page):
    """The page's comments and its blocks; the expected output is joined to the block that prints it."""
    settings, blocks, pending = {}, [], {}
    lines = page.read_text(encoding="utf-8").splitlines()
    number = 0
    adjoins = False
    while number < len(lines):
        comment, fence = COMMENT.match(lines[number]), FENCE.match(lines[number])
        number += 1
        if comment and comment[1] in ("not run", "as", "before", "then"):
            pending[comment[1]] = comment[2]
        elif comment:
            settings[comment[1]] = comment[2]
        elif fence:
            start, indent, text = number, len(fence["indent"]), []
            while lines[number].strip() != "```":
                text.append(lines[number][indent:])
                number += 1
            number += 1
            title = re.search(r'title="([^"]+)"', fence["rest"])
            block = Block(start, fence["language"], title and title[1], "\n".join(text) + "\n", pending)
            if block.language in ("text", "json") and not title and blocks and adjoins and "not run" not in pending:
                blocks[-1].prints = block.text
            else:
                blocks.append(block)
            pending, adjoins = {}, True
        elif lines[number - 1].strip() not in ("", "It prints:", "which prints:"):
            adjoins = False
    return settings, blocks


def pattern(text):
    """A regular expression for output that is printed with "…"."""
    parts = []
    for line in text.strip().splitlines():
        parts.append(r"(?:.*\n)*?" if line.strip() == "…" else r".*?".join(map(re.escape, line.rstrip().split("…"))) + r"[ \t]*\n")
    return "".join(parts)


def is_run(path):
    """Whether the page has anything to run."""
    return any("not run" not in block.comments and (block.title or block.language not in READ_ONLY) for block in read(path)[1])


class Page:
    """One page, run in its own folder."""

    def __init__(self, path, options):
        self.path, self.options = path, options
        self.settings, self.blocks = read(path)
        self.groups = []
        missing = [self.missing(python) for python in options.python]
        #: What the page needs and no interpreter has; None: it can run.
        self.skipped = None if None in missing else missing[0]
        self.python = options.python[missing.index(None) if None in missing else 0]

    def missing(self, python):
        for need in filter(None, (part.strip() for part in (self.settings.get("needs") or "").split(","))):
            if need.startswith("package "):
                name = need.split()[1]
                if subprocess.run([python, "-c", f"import {name}"], capture_output=True).returncode:
                    return f"the Python package {name} is not installed"
            elif not shutil.which(need, path=path_of(python)):
                return f"{need} is not installed"
        return None

    def run(self):
        with tempfile.TemporaryDirectory() as name:
            self.folder = pathlib.Path(name) / "here"
            self.folder.mkdir()
            self.state = pathlib.Path(name) / "state.sh"
            self.output = pathlib.Path(name) / "output"
            script = pathlib.Path(name) / "emulator.json"
            script.write_text(json.dumps({**EMULATOR, **json.loads(self.settings.get("emulator") or "{}")}))
            emulator = subprocess.Popen(
                [self.options.emulator, "--config", str(script), "--until-stdin-closes"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            try:
                self.environment = self.environ(json.loads(emulator.stdout.readline()))
                for block in self.blocks:
                    self.one(block)
            finally:
                for group in self.groups:
                    try:
                        os.killpg(group, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                emulator.stdin.close()
                emulator.wait(20)

    def environ(self, service):
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AGENTJOB_", "PYTHON"))}
        kept.update(PATH=path_of(self.python), CARGO_TARGET_DIR=self.options.target, HOME=str(self.folder), SOURCE=str(ROOT))
        kept.update(RUSTUP_HOME=os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")))
        kept.update(CARGO_HOME=os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo")))
        # The emulator is not behind the proxy of the machine.
        for name in ("no_proxy", "NO_PROXY"):
            kept[name] = ",".join(filter(None, (kept.get(name), "127.0.0.1", "localhost")))
        if self.options.library:
            kept.update(DIST=self.options.library)
        if "without settings" not in self.settings:
            kept.update(AGENTJOB_BASE_URL=service["base_url"], AGENTJOB_API_KEY=service["api_key"])
            kept.update(AGENTJOB_PROJECT_ID=service["project_id"])
        return kept

    def one(self, block):
        if "not run" in block.comments:
            return
        if "before" in block.comments:
            self.execute(block, ["bash", "-ec", block.comments["before"]], checked=False)
        if block.title:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
            module = block.comments.get("as")
            command = [self.python, "-m", *module.split(), block.title] if module else None
            if "then" in block.comments:
                command = ["bash", "-ec", block.comments["then"]]
            if block.prints and not command and block.language == "python":
                command = [self.python, block.title]
        elif block.language == "sh":
            restore = f'[ ! -e "{self.state}" ] || . "{self.state}"\n'
            keep = f'\n{{ export -p; printf "cd %q\\n" "$PWD"; }} > "{self.state}"\n'
            command = ["bash", "-ec", restore + block.text + keep]
        elif block.language == "python":
            module = block.comments.get("as")
            (self.folder.parent / "example.py").write_text(block.text)
            # With -c the folder is importable, as at a prompt.
            run = ["-m", *module.split(), str(self.folder.parent / "example.py")] if module else ["-c", block.text]
            command = [self.python, *run]
        elif block.language in READ_ONLY:
            return
        else:
            raise Failed(f'{self.where(block)}: a block of "{block.language}" needs a title or <!-- not run: because … -->')
        if command:
            self.execute(block, command)

    def execute(self, block, command, checked=True):
        # Into a file and not a pipe: a server that the block leaves behind keeps its output open.
        with open(self.output, "wb") as output:
            process = subprocess.Popen(
                command, cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self.groups.append(process.pid)
            try:
                status = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                status = f"none after {LIMIT} s"
        printed = self.output.read_text(encoding="utf-8", errors="replace")
        if status != 0:
            raise Failed(f"{self.where(block)}: exit status {status}\n{indented(printed)}")
        if checked and block.prints and not re.fullmatch(pattern(block.prints), re.sub(r"[ \t]+\n", "\n", printed.strip() + "\n")):
            raise Failed(f"{self.where(block)}: should print\n{indented(block.prints)}\nbut prints\n{indented(printed)}")

    def where(self, block):
        return f"{self.path.relative_to(ROOT)}:{block.line}"


def indented(text):
    return textwrap.indent(text, "    ")


def path_of(python):
    return os.path.dirname(python) + os.pathsep + os.environ["PATH"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, action="append", help="an interpreter that has agentjob and packages that pages need")
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--target", required=True, help="cargo's target folder")
    parser.add_argument("--library", help="the folder that `make -C ffi-c install PREFIX=…` filled")
    parser.add_argument("pages", nargs="*", type=pathlib.Path, help="default: every page of docs/")
    options = parser.parse_args()
    # Not resolved: a virtual environment's interpreter is a link to another one.
    options.python = [os.path.abspath(python) for python in options.python]
    for name in ("emulator", "target", "library"):
        setattr(options, name, getattr(options, name) and os.path.abspath(getattr(options, name)))
    pages = [page.resolve() for page in options.pages] or sorted(DOCS.rglob("*.md"))
    results = {"passed": 0, "failed": 0, "skipped": 0}
    for path in pages:
        if not is_run(path):
            continue
        page, began = Page(path, options), time.monotonic()
        try:
            if page.skipped:
                print(f"SKIPPED: {path.relative_to(ROOT)}: {page.skipped}")
            else:
                page.run()
                print(f"ok      {path.relative_to(ROOT)} ({time.monotonic() - began:.1f} s)", flush=True)
            results["skipped" if page.skipped else "passed"] += 1
        except Failed as failed:
            print(f"FAILED  {failed}", flush=True)
            results["failed"] += 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**results))
    return 1 if results["failed"] or not results["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
