#!/usr/bin/env python3
"""parts.py finds the tests that failed in each runner's output, runs them again, and says at the end what was wrong. So does platforms/table.py."""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile

import parts
from failures import Failure, failures

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "platforms"))
import table  # noqa: E402

CUT = "not every test ran to its end"
CASES = [
    (
        "cargo",
        """
test batch::a_is_b ... FAILED
failures:

---- batch::a_is_b stdout ----

thread 'batch::a_is_b' (24864) panicked at core/tests/together/batch.rs:202:31:
called `Option::unwrap()` on a `None` value
stack backtrace:
   0: __rustc::rust_begin_unwind

---- core/src/lib.rs - Client (line 12) stdout ----
Test executable failed (exit status: 101).

failures:
    batch::a_is_b
test result: FAILED. 217 passed; 1 failed; 10 ignored; 0 measured; 0 filtered out; finished in 29.60s
""",
        [
            Failure("batch::a_is_b", "core/tests/together/batch.rs:202:31: called `Option::unwrap()` on a `None` value", "batch::a_is_b"),
            Failure("core/src/lib.rs - Client (line 12)", "Test executable failed (exit status: 101).", "core/src/lib.rs - Client (line 12)"),
        ],
    ),
    (
        "cargo: a program that ends before its tests is not run again",
        """
test network::b has been running for over 60 seconds

test network::b is still running after 300 s
error: test failed, to rerun pass `--test together`

Caused by:
  process didn't exit successfully: `/deps/together-e9796c29` (signal: 6, SIGABRT: process abort signal)
     Running tests/proof.rs (target/debug/deps/proof-ef95974e)
  process didn't exit successfully: `/deps/proof-ef95974e` (exit status: 3)
  process didn't exit successfully: `/deps/other-ef95974e` (exit status: 101)
""",
        [
            Failure("test network::b is still running after 300 s", CUT, None),
            Failure("process didn't exit successfully: `/deps/together-e9796c29` (signal: 6, SIGABRT: process abort signal)", CUT, None),
            Failure("process didn't exit successfully: `/deps/proof-ef95974e` (exit status: 3)", CUT, None),
        ],
    ),
    (
        "cargo: a test without a section is not forgotten",
        """
test a ... FAILED
test b ... FAILED
---- a stdout ----
Error: "wrong"

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.07s
""",
        [Failure("a", 'Error: "wrong"', "a"), Failure("1 more", "the total says so, but nothing names them", None)],
    ),
    (
        "pytest: what kept tests from running, or ended a worker, is not run again",
        """
INTERNALERROR> Traceback (most recent call last):
INTERNALERROR>   File "x.py", line 1
!!!!!!!!!!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!!!!!!!!!!
FAILED x/test_a.py::test_b - worker 'gw0' crashed while running 'x/test_a.py::test_b'
FAILED x/test_a.py::test_c - Failed: it was still running after 480 s
ERROR x/test_d.py - ImportError: no
ERROR gw0 - Different tests were collected between gw1 and gw0.
2 failed, 2 errors in 3.0s
""",
        [
            Failure("INTERNALERROR> Traceback (most recent call last):", CUT, None),
            Failure("!!!!!!!!!!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!!!!!!!!!!", CUT, None),
            Failure("x/test_a.py::test_b", "worker 'gw0' crashed while running 'x/test_a.py::test_b'", None),
            Failure("x/test_a.py::test_c", "Failed: it was still running after 480 s", None),
            Failure("x/test_d.py", "ImportError: no", None),
            Failure("ERROR gw0 - Different tests were collected between gw1 and gw0.", CUT, None),
            Failure("1 more", "the total says so, but nothing names them", None),
        ],
    ),
    (
        "pytest",
        """
FAILED x/test_a.py::test_b[x-1 2] - AssertionError: assert 'a - b' == 'c'
ERROR x/test_a.py::test_c - ResourceWarning: unclosed file
ERROR x/test_a.py::test_b[x-1 2] - AssertionError: in its teardown, too
1 failed, 20 passed, 2 errors in 3.0s
""",
        [
            Failure("x/test_a.py::test_b[x-1 2]", "AssertionError: assert 'a - b' == 'c'", "x/test_a.py::test_b[x-1 2]"),
            Failure("x/test_a.py::test_c", "ResourceWarning: unclosed file", "x/test_a.py::test_c"),
        ],
    ),
    (
        "the C programs: what is no program, or crashed, is not run again",
        """
FAILED  static/a_wait_ends
        a_wait_ends.c:12: 1 == 2
FAILED  agentjob.h alone, cc c99
        error: x
FAILED  shared/a
        ended with status 139
FAILED  shared/b
ok      shared/c
1 passed, 4 failed
""",
        [
            Failure("static/a_wait_ends", "a_wait_ends.c:12: 1 == 2", "static/a_wait_ends"),
            Failure("agentjob.h alone, cc c99", "error: x", None),
            Failure("shared/a", "ended with status 139", None),
            Failure("shared/b", "", "shared/b"),
        ],
    ),
    (
        "the vectors: a scenario runs in each language again",
        """
FAILED python: waits/a wait, and another
    .error.kind: expected "timeout", got "connect"
FAILED c: the driver ended with -11
614 passed, 2 failed
""",
        [
            Failure("python: waits/a wait, and another", '.error.kind: expected "timeout", got "connect"', "python: waits/a wait, and another"),
            Failure("c: the driver ended with -11", "", None),
        ],
    ),
    (
        "the pages: a page runs again as a whole",
        """
FAILED  README.md:31: exit status 1
    no such file
FAILED  x/a-page.md:4: should print
    completed
but prints
    failed
0 passed, 2 failed, 0 skipped
""",
        [
            Failure("README.md:31", "exit status 1 no such file", "README.md"),
            Failure("x/a-page.md:4", "should print completed", "x/a-page.md"),
        ],
    ),
    ("what passed", "test a ... ok\nok      shared/a\n12 passed in 3.0s\n", []),
]


#: Instead of make: prints the next file of a folder and ends with the status in its first line; the last one stays.
MAKE = """#!/bin/sh
cd "$(dirname "$0")"
echo "$2 $ONLY" >>calls
set -- [0-9]*
tail -n +2 "$1"
status=$(head -n 1 "$1")
[ $# -eq 1 ] || rm "$1"
exit "$status"
"""
#: Instead of make: `sizes` passes only if `test-c` runs beside it. Beside a file `interrupt`, `test-c` interrupts the run.
BESIDE = """#!/bin/sh
cd "$(dirname "$0")"
case "$2" in
sizes)
    echo $$ >building
    n=0
    until [ -e tested ]; do n=$((n + 1)); [ $n -lt 600 ] || exit 2; sleep 0.05; done
    ;;
test-c)
    until [ -e building ]; do sleep 0.05; done
    if [ -e interrupt ]; then kill -TERM "$PPID"; sleep 60; fi
    echo >tested
    ;;
esac
echo "1 passed"
"""
TEST = "FAILED  shared/{}\n        {}.c:1: 1 == 2\n"
ONE = "2\n" + TEST.format("a", "a")
PASSED = "0\nok      shared/a\n1 passed, 0 failed\n"
#: (the situation, what make prints and ends with each time, the exit status, the calls of make, lines at the end)
RUNS = [
    ("everything passed", [PASSED], 0, ["test-c "], ["All parts passed."]),
    (
        "a test passed when it ran again",
        [ONE, ONE, PASSED],
        0,
        ["test-c ", "test-c shared/a", "test-c shared/a"],
        ["FLAKY test-c: shared/a: a.c:1: 1 == 2", "All parts passed."],
    ),
    (
        "a test failed each time",
        [ONE],
        1,
        ["test-c "] + ["test-c shared/a"] * 2,
        ["FAILED test-c: shared/a: a.c:1: 1 == 2", "Failed: test-c"],
    ),
    ("no test ran the second time", [ONE, "0\n0 passed, 0 failed\n"], 1, ["test-c "] + ["test-c shared/a"] * 2, ["Failed: test-c"]),
    (
        "more tests failed than may be flaky",
        ["2\n" + "".join(TEST.format(name, name) for name in "abcd"), PASSED],
        1,
        ["test-c "],
        [f"FAILED test-c: shared/{name}: {name}.c:1: 1 == 2" for name in "abcd"],
    ),
    (
        "a program crashed beside a test that might be flaky",
        [ONE + "  process didn't exit successfully: `x` (signal: 11, SIGSEGV)\n", PASSED],
        1,
        ["test-c "],
        [
            "FAILED test-c: shared/a: a.c:1: 1 == 2",
            f"FAILED test-c: process didn't exit successfully: `x` (signal: 11, SIGSEGV): {CUT}",
            "Failed: test-c",
        ],
    ),
    ("no test ran", ["0\nnothing to do\n"], 1, ["test-c "], ["    nothing to do", "Failed: test-c"]),
    ("it did not compile", ["2\na.c:1: error: no such thing\n"], 1, ["test-c "], ["    a.c:1: error: no such thing", "Failed: test-c"]),
]


#: For table.py: (what a part prints, the exit status with and without WHOLE=1, the last line)
PLATFORMS = [
    ("--- built: a\n--- ran: b\nSKIPPED: two files\n3 passed, 0 failed", 0, 0, "All parts passed."),
    ("--- compiled, not linked: a", 0, 0, "All parts passed."),
    ("--- built: a\nSKIPPED the rest: there is no gcc", 1, 0, "Not run: one"),
    ("--- ran: a\nSKIPPED two files", 1, 1, "Failed: one (no test ran: a)"),
    ("--- ran: a", 1, 1, "Failed: one (no test ran: a)"),
    ("--- ran: a\n0 passed, 0 failed", 1, 1, "Failed: one (no test ran: a)"),
]


def platforms():
    """A platform on which nothing ran has not passed."""
    for printed, whole, partly, line in PLATFORMS:
        with tempfile.TemporaryDirectory() as folder:
            table.HERE = pathlib.Path(folder)
            (table.HERE / "check-one.sh").write_text(f"cat <<'END'\n{printed}\nEND\n")
            for setting, status in (("1", whole), ("", partly)):
                os.environ["WHOLE"] = setting
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    assert table.main(["one"]) == status, f"WHOLE={setting}: {said.getvalue()}"
                assert said.getvalue().splitlines()[-1] == line, said.getvalue()


def run(outputs, names=("test-c",)):
    """The exit status of parts.py, the calls of make, what is printed, and parts.json."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "make").write_text(MAKE)
        (folder / "make").chmod(0o700)
        for number, output in enumerate(outputs):
            (folder / f"{number}").write_text(output)
        os.environ["MAKE"] = str(folder / "make")
        os.environ.pop("ONLY", None)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            status = parts.main(names, folder / "parts.json")
        return status, (folder / "calls").read_text().splitlines(), printed.getvalue(), json.loads((folder / "parts.json").read_text())


def beside():
    """The part that builds runs beside the next one, and an interrupted run leaves neither of them."""
    for interrupted in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "make").write_text(BESIDE)
            (folder / "make").chmod(0o700)
            if interrupted:
                (folder / "interrupt").touch()
            os.environ["MAKE"] = str(folder / "make")
            with contextlib.redirect_stdout(io.StringIO()):
                parts.main(("sizes", "test-c", "test-rust"), folder / "parts.json")
            results = [part["result"] for part in json.loads((folder / "parts.json").read_text())["parts"]]
            if not interrupted:
                assert results == ["ok"] * 3, f"a build beside the tests: {results}"
                continue
            assert results[1:] == ["interrupted", "not run"] and results[0] != "ok", f"an interrupted run: {results}"
            with contextlib.suppress(ProcessLookupError):
                os.kill(int((folder / "building").read_text()), 0)
                raise AssertionError("an interrupted run left a build")


def main():
    for what, output, expected in CASES:
        found = failures(output)
        assert found == expected, f"{what}: {found}"
    for what, outputs, status, calls, lines in RUNS:
        seen = run(outputs)
        assert seen[:2] == (status, calls), f"{what}: {seen}"
        end = seen[2].splitlines()[-40:]
        assert all(line in end for line in lines), f"{what}: {end}"
        flaky = [test["name"] for test in seen[3]["parts"][0]["flaky"]]
        assert flaky == (["shared/a"] if any(line.startswith("FLAKY") for line in lines) else []), f"{what}: {flaky}"
    two = "2\n" + TEST.format("a", "a") + TEST.format("b", "b")
    status, _, printed, results = run([two, PASSED, PASSED, two, PASSED], ("test-c", "test-rust"))
    assert status == 1 and results["wrong"] == ["4 tests are flaky, at most 3 may be"], f"four flaky tests: {results}"
    assert "4 tests are flaky, at most 3 may be" in printed, f"four flaky tests: {printed}"
    hung = parts.Part("test-c")
    hung.result, hung.failed = "FAILED: ended after 40 minutes", failures(TEST.format("a", "a"))
    make = parts.make
    parts.make = lambda *_, **__: ("ok", PASSED)
    hung.run_failed_again()
    assert hung.failed and hung.result != "ok", "a part that hung after a test failed"
    parts.make = make
    beside()
    platforms()
    print(f"ok      the failures in {len(CASES)} outputs, {len(RUNS) + 1} runs of parts.py, and {len(PLATFORMS)} of table.py")


if __name__ == "__main__":
    main()
