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
SCENARIO = re.compile(r"^\w+: (?P<only>\w+/.+)$")
PAGE = re.compile(r"^(?P<only>[\w./-]+\.md):\d+: (?P<text>.*)$")
#: What ended a whole program of tests, with those that had not run. cargo says nothing of a status 101: its tests have names.
CRASH = re.compile(
    r"^\s*(?:process didn't exit successfully: (?P<program>.* \((?!exit status: 101\)).*)|INTERNALERROR> (?P<pytest>\w.*)"
    r"|test (?P<hung>\S+) is still running after (?P<seconds>\d+ s))$"
)


def failures(output):
    """The tests that failed, in the order of the output. A test that is named twice is one."""
    found = {}
    lines = output.splitlines()
    for number, line in enumerate(lines):
        failure = failure_at(line, lines[number + 1 : number + 12])
        if failure and failure.name not in found:
            found[failure.name] = failure
    return list(found.values())


def failure_at(line, following):
    following = [text.strip() for text in following if text.strip()]
    first = following[0] if following else ""
    if match := CARGO.match(line):
        panic = PANIC.match(first)
        text = f"{panic['place']}: {' '.join(following[1:2])}" if panic else first
        return Failure(match["name"], text, match["name"])
    if match := CRASH.match(line):
        text = f"still running after {match['seconds']}" if match["hung"] else "it ended before its tests did"
        return Failure(match["hung"] or match["program"] or match["pytest"], text, None)
    if match := PYTEST.match(line):
        return Failure(match["name"], match["text"] or "", match["name"])
    if match := OURS.match(line):
        name = match["name"]
        if page := PAGE.match(name):
            return Failure(name[: page.start("text")].rstrip(": "), f"{page['text']} {first}".strip(), page["only"])
        scenario = SCENARIO.match(name)
        return Failure(name, first, scenario["only"] if scenario else name if PROGRAM.match(name) else None)
    return None
