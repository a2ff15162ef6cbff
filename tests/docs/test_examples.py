"""The examples in docstrings, rustdoc, the headers and --help agree with the pages.

A page makes each call of the public interface that an example of several lines makes, with the same arguments: the same number of them,
and the same names. The code of a page runs as a test, so an example can't drift away from it. What differs from page to page isn't
compared: the values of strings and numbers, names of variables, and the values of keyword arguments.
"""

import ast
import doctest
import functools
import importlib
import inspect
import pathlib
import re

import pytest
from run import read

from agentjob._cli.help import EXAMPLES

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = [importlib.import_module(name) for name in ("agentjob", "agentjob.aio", "agentjob.errors", "agentjob.testing", "agentjob.types")]
STUB = ROOT / "python" / "agentjob" / "_native.pyi"
STRING = r"""r#"[^"]*(?:"(?!#)[^"]*)*"#|[bfr]*"(?:[^"\\]|\\.)*"|'(?:[^'\\\n]|\\.)*'"""
COMMENT = {"python": r"#[^\n]*"}
SLASHES = r"//[^\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*\*/"


def public_things():
    return {name: getattr(module, name) for module in MODULES for name in module.__all__ if name != "__version__"}


@functools.lru_cache(None)
def public_names(language):
    """The names whose calls are compared."""
    if language == "python":
        members = {member for thing in public_things().values() if isinstance(thing, type) for member in vars(thing)}
        return {name for name in {*public_things(), *members} if not name.startswith("_")}
    folder, files, name = {
        "rust": ("core/src", "**/*.rs", r"(?:pub fn |^ +(?=\w+: .*=> \|))(\w+)"),
        "c": ("include", "agentjob.h", r"\b(agentjob_\w+)\("),
        "cpp": ("include", "*.hpp", r"\b(\w+)\("),
    }[language]
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / folder).glob(files)]
    return {found for text in texts for found in re.findall(name, text, re.M)} - {"if", "for", "while"}


def calls(language, code):
    """The calls of the public interface, as texts in which only what is compared is left."""
    nothing_or_string = rf"(?P<string>{STRING})|{COMMENT.get(language, SLASHES)}"
    code = re.sub(nothing_or_string, lambda found: '"…"' if found["string"] else "", code)
    for found in re.finditer(r"(?:\w+::)*(\w+)\(", code):
        if found[1] in public_names(language) and not re.search(r"\b(?:def|fn) $", code[: found.start()]):
            path = re.sub(r"^agentjob(?:_core)?::", "", found[0][:-1])
            yield f"{path}({', '.join(map(comparable, arguments(code[found.end():])))})"


def arguments(code):
    """The arguments of a call, up to the parenthesis that ends it."""
    depth, argument = 0, ""
    for letter in code:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0 or (letter == "," and not depth):
            yield from filter(None, [argument.strip()])
            argument = ""
            if depth < 0:
                return
        else:
            argument += letter


def comparable(argument):
    keyword = re.match(r"(\w+) ?=(?!=)", argument)
    squeezed = re.sub(r"\s+|agentjob(?:_core)?::", "", argument)
    is_a_value = re.fullmatch(r'"…"|[\d.]+|[a-z]\w*|[({\[].*[)}\]]', squeezed)
    return keyword[1] + "=…" if keyword else "…" if is_a_value else squeezed


@functools.lru_cache(None)
def calls_of_the_pages(language):
    blocks = [block for page in PAGES for block in read(page)[1] if block.language == language and "not run" not in block.comments]
    return {call for block in blocks for call in calls(language, block.text)}


def docstrings():
    """Every docstring that help() or an editor shows, with the name of what it describes."""
    for module in MODULES:
        yield module.__name__, module.__doc__
    for name, thing in public_things().items():
        yield name, getattr(thing, "__doc__", None)
        for member, value in vars(thing).items() if isinstance(thing, type) else ():
            yield f"{name}.{member}", getattr(value, "__doc__", None)
    for node in ast.walk(ast.parse(STUB.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield f"{STUB.name}, {getattr(node, 'name', 'module')}", ast.get_docstring(node)


def indented(text):
    """The paragraphs of a text that are indented by four spaces."""
    return [inspect.cleandoc("\n" + found) for found in re.findall(r"(?:\A|\n\n)((?: {4}.*(?:\n|\Z)|\n(?= {4}))+)", text)]


def python_examples():
    for name, text in docstrings():
        if isinstance(text, str):
            shown = "".join(example.source for example in doctest.DocTestParser().get_examples(text))
            for code in [shown] if shown else indented(inspect.cleandoc(text)):
                yield name, code


def rust_examples():
    for path in sorted([*ROOT.glob("core/src/**/*.rs"), *ROOT.glob("ffi-c/src/**/*.rs")]):
        for comment in re.findall(r"(?:^ *//[/!].*\n)+", path.read_text(encoding="utf-8"), re.M):
            text = re.sub(r"^ *//[/!] ?", "", comment, flags=re.M)
            for code in re.findall(r"^```(?:no_run)?\n(.*?)^```$", text, re.M | re.S):
                yield str(path.relative_to(ROOT)), re.sub(r"^# ?", "", code, flags=re.M)


def header_examples(*names):
    for name in names:
        for comment in re.findall(r"/\*.*?\*/", (ROOT / "include" / name).read_text(encoding="utf-8"), re.S):
            for code in indented(re.sub(r"^ *\*/?[ \t]?", "", comment, flags=re.M)):
                yield name, code


def examples(language):
    made = {
        "python": python_examples,
        "rust": rust_examples,
        "c": lambda: header_examples("agentjob.h"),
        "cpp": lambda: header_examples("agentjob.hpp", "agentjob_types.hpp", "agentjob_batch.hpp"),
    }[language]()
    return [(name, code) for name, code in made if len(code.strip().splitlines()) > 1]


@pytest.mark.parametrize(("language", "calls_at_least"), [("python", 25), ("rust", 20), ("c", 8), ("cpp", 8)])
def test_a_page_makes_the_calls_of_every_example(language, calls_at_least):
    shown = [(name, call) for name, code in examples(language) for call in calls(language, code)]
    assert len(shown) >= calls_at_least
    missing = [f"{name}: {call}" for name, call in shown if call not in calls_of_the_pages(language)]
    assert not missing, "no page shows\n" + "\n".join(missing)


def commands(line):
    """The commands of agentjob in a line of shell, each with its flags."""
    for found in re.findall(r"\bagentjob ([^|>#`]*)", line):
        words = found.split()
        name = next((name for count in (2, 1) for name in [" ".join(words[:count])] if name in EXAMPLES), None)
        if name:
            yield name, frozenset(re.findall(r"(?<!\S)-[\w-]+", found)) - {"--help"}


def test_a_page_shows_the_flags_of_every_example_of_help():
    shown = [block.text for page in PAGES for block in read(page)[1] if block.language in ("sh", "text", "yaml", "ini")]
    shown += [span for page in PAGES for span in re.findall(r"`agentjob [^`]+`", page.read_text(encoding="utf-8"))]
    on_pages = {command for text in shown for line in text.splitlines() for command in commands(line)}
    in_help = {command for text in EXAMPLES.values() for line in text.splitlines() for command in commands(line)}
    assert len(in_help) > 20
    missing = [command for command in in_help if not any(name == command[0] and flags >= command[1] for name, flags in on_pages)]
    assert not missing, missing
