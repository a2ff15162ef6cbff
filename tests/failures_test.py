#!/usr/bin/env python3
"""Each runner's output names the tests that failed."""

from failures import Failure, failures

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
        "pytest",
        """
FAILED x/test_a.py::test_b[x-1 2] - AssertionError: assert 'a - b' == 'c'
ERROR x/test_a.py::test_c - ResourceWarning: unclosed file
ERROR x/test_d.py - ImportError: no
FAILED x/test_a.py::test_b[x-1 2] - AssertionError: again
1 failed, 20 passed in 3.0s
""",
        [
            Failure("x/test_a.py::test_b[x-1 2]", "AssertionError: assert 'a - b' == 'c'", "x/test_a.py::test_b[x-1 2]"),
            Failure("x/test_a.py::test_c", "ResourceWarning: unclosed file", "x/test_a.py::test_c"),
            Failure("x/test_d.py", "ImportError: no", "x/test_d.py"),
        ],
    ),
    (
        "the C programs: what is no program is not run again",
        """
ok      shared/a
FAILED  static/a_wait_ends
        a_wait_ends.c:12: 1 == 2
FAILED  agentjob.h alone, cc c99
        error: x
""",
        [
            Failure("static/a_wait_ends", "a_wait_ends.c:12: 1 == 2", "static/a_wait_ends"),
            Failure("agentjob.h alone, cc c99", "error: x", None),
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
            Failure("python: waits/a wait, and another", '.error.kind: expected "timeout", got "connect"', "waits/a wait, and another"),
            Failure("c: the driver ended with -11", "614 passed, 2 failed", None),
        ],
    ),
    (
        "the pages: a page runs again as a whole",
        """
FAILED  README.md:31: exit status 1
no such file
0 passed, 1 failed, 0 skipped
""",
        [Failure("README.md:31", "exit status 1 no such file", "README.md")],
    ),
    ("what passed", "test a ... ok\nok      shared/a\n12 passed in 3.0s\n", []),
]


def main():
    for what, output, expected in CASES:
        found = failures(output)
        assert found == expected, f"{what}: {found}"
    print(f"ok      the failures in {len(CASES)} outputs are found")


if __name__ == "__main__":
    main()
