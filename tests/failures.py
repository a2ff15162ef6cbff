"""Which tests failed, read from what cargo, pytest, the C programs, the vectors and the pages print."""

import re
import typing


class Failure(typing.NamedTuple):
    #: What a person calls the test.
    name: str
    #: The first line that says what was wrong.
    text: str
    #: What runs this test by itself: `make PART ONLY=…`. None if nothing does.
    only: typing.Optional[str]


#: cargo: a line of this kind, then what the test printed.
CARGO = re.compile(r"^---- (?P<name>.+?)(?: stdout)? ----$")
#: The first line of a panic has its place; what was wrong is on the next.
PANIC = re.compile(r"^thread .* panicked at (?P<place>.+):$")
#: pytest -rfE: the test and what was wrong, in one line.
PYTEST = re.compile(r"^(?:FAILED|ERROR) (?P<name>\S+\.py(?:::.+?)?)(?: - (?P<text>.*))?$")
#: tests/c/run.sh, tests/vectors/run.py, tests/docs/run.py: the test, then what was wrong, indented.
OURS = re.compile(r"^FAILED  ?(?P<name>\S.*)$")
PROGRAM = re.compile(r"^(?:shared|static)/.+$")
SCENARIO = re.compile(r"^\w+: \w+/.+$")
PAGE = re.compile(r"^(?P<place>(?P<only>[\w./-]+\.md):\d+): (?P<text>.*)$")
#: How cargo, pytest and our own runners report their totals.
TOTAL = re.compile(r"^(?:test result: .*|(?:=+ )?(?:\d+ \w+, )*\d+ (?:passed|failed|skipped|errors?)\b.*)$")
TOTALS = {
    "passed": re.compile(r"\b(\d+) passed\b"),
    "failed": re.compile(r"\b(\d+) (?:failed|errors?)\b"),
    "skipped": re.compile(r"\b(\d+) (?:skipped|ignored)\b"),
}
#: Tests did not run, or did not end by themselves. cargo reports a status other than 101, which has the names of its tests.
CUT_SHORT = re.compile(
    r"^\s*(?:process didn't exit successfully: .* \((?!exit status: 101\)).*|could not execute process .*|INTERNALERROR> \w.*"
    r"|test \S+ is still running after \d+ s|!{3,} .+ !{3,}|ERROR gw\d.*)$"
)
#: The same as the reason of one test.
CRASHED = re.compile(r"^worker '\w+' crashed|still running after|^ended with status \d+")


def failures(output):
    """The tests that failed, in the order of the output, and what else did. A test that is named twice is one."""
    found, named, counted = {}, 0, 0
    lines = output.splitlines()
    for number, line in enumerate(lines):
        failure = failure_at(line, lines[number + 1 : number + 12])
        if failure:
            found.setdefault(failure.name, failure)
            named += not CUT_SHORT.match(line)
        elif TOTAL.match(line):
            counted += sum(map(int, TOTALS["failed"].findall(line)))
    if named < counted:
        found[""] = Failure(f"{counted - named} more", "the total says so, but nothing names them", None)
    return list(found.values())


def failure_at(line, following):
    if match := CARGO.match(line):
        first, *rest = [text.strip() for text in following if text.strip()] or [""]
        panic = PANIC.match(first)
        return one(match["name"], f"{panic['place']}: {' '.join(rest[:1])}" if panic else first)
    if CUT_SHORT.match(line):
        return Failure(line.strip(), "not every test ran to its end", None)
    if match := PYTEST.match(line):
        # What has no name of a test is a file that could not be imported.
        return one(match["name"], match["text"] or "", match["name"] if "::" in match["name"] else None)
    if match := OURS.match(line):
        name = match["name"]
        first = following[0].strip() if following and following[0].startswith(" ") else ""
        if page := PAGE.match(name):
            return one(page["place"], f"{page['text']} {first}".strip(), page["only"])
        return one(name, first, name if PROGRAM.match(name) or SCENARIO.match(name) else None)
    return None


def one(name, text, *only):
    """The failure of a test, which runs again by its name unless `only` says otherwise, or its program crashed or hung."""
    return Failure(name, text, None if CRASHED.search(text) else only[0] if only else name)
