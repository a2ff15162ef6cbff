#!/usr/bin/env python3
"""Makes each system call, and each allocation, of a send, a wait and a batch fail, one after the other, and judges what is reported.

    torture.py --emulator PROGRAM --build FOLDER --program PROGRAM [--python PYTHON] [--sample N] [--only TEXT] [--write PAGE]

FOLDER has fail_call and fail_allocation.so, PROGRAM is program.c, and PYTHON is one that has agentjob.

First each situation runs undisturbed and its system calls are recorded. Then it runs once for each call and each effect: every errno of
errnos.txt, EINTR, and one byte only for a read or a write. --sample N runs about N cases, some for each call; --only runs those whose
names contain TEXT; --write writes the table. The exit status is 1 if a promise was broken (judge.py).
"""

import argparse
import collections
import concurrent.futures
import errno
import itertools
import json
import os
import pathlib
import queue
import re
import subprocess
import sys
import tempfile
import time

import table
from judge import DEADLINE_MS, LATE, judge, label, of_repeated, took, too_late, was_delayed
from services import Services

HERE = pathlib.Path(__file__).resolve().parent
SITUATIONS = [
    (language, what, route) for language in ("C", "Python") for what in ("send", "wait", "batch") for route in ("plain", "tls", "proxy")
]
SITUATIONS.insert(3, ("C", "send", "name"))
#: A program that runs longer hangs. Its deadlines are 2 s and 4 s, the rest is for a busy machine.
LIMIT_MS = 120_000
UNSUPPORTED = 77
NO_FAULT, ONE_BYTE = -1, 0
#: They cannot fail, or not in a way that can be imitated.
LEFT_ALONE = {"getpid", "prctl", "rseq"}
MOVERS = ("read", "write", "pread64", "pwrite64", "readv", "writev", "recvfrom", "sendto")

Case = collections.namedtuple("Case", "situation call occurrence effect")
Run = collections.namedtuple("Run", "case name found ending stderr reached calls")


def call_numbers(compiler):
    """The numbers of this machine's system calls, by name."""
    source = subprocess.run([compiler, "-E", "-dM", "-include", "sys/syscall.h", "-xc", "/dev/null"], capture_output=True, text=True)
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", source.stdout)}


def errnos():
    lines = [line for line in (HERE / "errnos.txt").read_text().splitlines() if not line.startswith("#")]
    return {call: names.split() for call, names in (line.split(":") for line in lines)}


class Torture:
    def __init__(self, options):
        self.options = options
        self.numbers = call_numbers(os.environ.get("CC", "cc"))
        self.names = {number: name for name, number in self.numbers.items()}
        self.errnos = errnos()
        self.services = queue.Queue()
        self.count = itertools.count(1)

    def command(self, language):
        return [self.options.program] if language == "C" else [self.options.python, str(HERE / "program.py")]

    def run(self, case, services):
        """Runs one case; its judgement needs the ledger, which is read once at the end."""
        language, what, route = case.situation
        name = f"{language} {what} {route}: {case.call} {case.occurrence} {case.effect}, run {next(self.count)}"
        arguments = services.route(route)
        with tempfile.TemporaryDirectory(dir=self.options.build) as folder:
            report = pathlib.Path(folder) / "report"
            # Without the machine's own certificates, which would be hundreds of files.
            environment = {**os.environ, "SSL_CERT_FILE": arguments[2] or "/dev/null", "SSL_CERT_DIR": folder, "RUST_BACKTRACE": "0"}
            if case.call == "malloc":
                library = f"{self.options.build}/fail_allocation.so"
                environment.update({"LD_PRELOAD": library, "FAIL_ALLOCATION": str(case.occurrence)})
            fault = [self.numbers.get(case.call, 0), case.occurrence, NO_FAULT if case.call == "malloc" else effect(case.effect)]
            process = subprocess.run(
                [f"{self.options.build}/fail_call", str(report), str(LIMIT_MS), *map(str, fault)]
                + [*self.command(language), what, *arguments, name, f"{folder}/journal"],
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
            )
            if process.returncode == UNSUPPORTED and case.call == "none":
                raise Unsupported
            if process.returncode != 0:
                sys.exit(f"{name}: fail_call ended with {process.returncode}: {process.stderr}")
            *calls, reached, ending = report.read_text().splitlines()
        found = json.loads(process.stdout) if ending == "exit 0" else None
        calls = [self.names.get(int(call), call) for call in calls]
        return Run(case, name, found, ending, process.stderr, "applied" if case.call == "malloc" else reached, calls)

    def run_all(self, cases, workers):
        """Runs the cases, each on services of its own that no other case uses at the same time."""

        def one(case):
            services = self.services.get()
            try:
                return self.run(case, services)
            finally:
                self.services.put(services)

        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            return list(pool.map(one, cases))

    def cases(self, run):
        """Every case that follows from an undisturbed run."""
        for call, count in collections.Counter(run.calls).items():
            if call not in self.errnos and call not in LEFT_ALONE:
                sys.exit(f"{run.name}: errnos.txt does not say how {call} fails; see its page in section 2 of the manual")
            effects = sorted({*self.errnos[call], "EINTR"}) if call in self.errnos else []
            effects += ["one byte"] if call in MOVERS else []
            for occurrence in range(1, count + 1):
                for effect in effects:
                    yield Case(run.case.situation, call, occurrence, effect)

    def alone(self, case):
        """Three runs of a case with nothing beside them, and up to six more if threads and polls vary so that none reaches the call."""
        again = []
        while len(again) < 3 or (len(again) < 9 and not any(one.reached == "applied" for one in again)):
            again += self.run_all([case], 1)
        return again

    def allocations(self):
        """Every allocation of a send in C."""
        situation = ("C", "send", "plain")
        [run] = self.run_all([Case(situation, "malloc", 0, "ENOMEM")], 1)
        return [Case(situation, "malloc", number, "ENOMEM") for number in range(1, run.found["allocations"] + 1)]


class Unsupported(Exception):
    pass


def effect(name):
    """What fail_call.c calls it."""
    return {"nothing": NO_FAULT, "one byte": ONE_BYTE}[name] if name in ("nothing", "one byte") else getattr(errno, name)


def sample(cases, size):
    """About so many of the cases: evenly spread over those of each call, and at least one."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[(case.situation[1], case.call)].append(case)
    for group in groups.values():
        wanted = max(1, len(group) * size // len(cases))
        yield from (group[number * len(group) // wanted] for number in range(wanted))


def judged(runs, ledgers):
    """Each run with the promises that it broke."""
    arrived = collections.defaultdict(dict)
    for ledger in ledgers:
        for prompt, places in ledger.items():
            # Of a run's own prompts: its name, and what program.c appends.
            arrived[prompt.removesuffix(", next").split(", item ")[0]][prompt] = places
    for run in runs:
        yield run, judge(run.case.situation[1], run.case.call, run.found, run.ending, run.stderr, arrived[run.name])


def main():
    parser = argparse.ArgumentParser()
    for name in ("--emulator", "--build", "--program"):
        parser.add_argument(name, required=True)
    parser.add_argument("--python")
    parser.add_argument("--sample", type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--write")
    parser.add_argument("--workers", type=int, default=4)
    options = parser.parse_args()
    pathlib.Path(options.build).mkdir(parents=True, exist_ok=True)
    torture = Torture(options)
    all_services = [Services(options.emulator, options.build) for _ in range(options.workers)]
    for services in all_services:
        torture.services.put(services)
    try:
        return run(torture, all_services, options)
    except Unsupported:
        print("SKIPPED: this kernel has no seccomp notification (Linux 5.19), so no system call can be made to fail")
        return 0
    finally:
        for services in all_services:
            services.end()


def run(torture, all_services, options):
    began, commit = time.monotonic(), table.commit()
    situations = [one for one in SITUATIONS if one[0] == "C" or options.python]
    undisturbed = torture.run_all([Case(one, "none", 0, "nothing") for one in situations], options.workers)
    cases = [case for one in undisturbed for case in torture.cases(one)] + torture.allocations()
    cases = [case for case in cases if options.only in " ".join(map(str, (*case.situation, *case[1:])))]
    total = len(cases)
    if options.sample:
        cases = list(sample(cases, options.sample))
    runs = torture.run_all(cases, options.workers)
    # A late call may be the machine's fault: it runs again, alone. Its other promises hold anyway, and those of its repetitions, too.
    delayed = []
    for some in (undisturbed, runs):
        for at, one in enumerate(some):
            if was_delayed(one.case.situation[1], one.found):
                again = torture.alone(one.case)
                some[at] = of_repeated(one, again)
                delayed += [one, *again]
    ledgers = [ledger for services in all_services for ledger in (services.plain.arrived(), services.tls.arrived())]
    results = list(judged([*undisturbed, *runs], ledgers))
    results += [(one, [it for it in sentences if not it.endswith(LATE)]) for one, sentences in judged(delayed, ledgers)]
    text = table.page(undisturbed, [(one, label(one.found, one.ending, one.stderr)) for one in runs], torture.errnos, commit)
    print(text)
    broken = [(one, sentences) for one, sentences in results if sentences]
    for one, sentences in broken:
        for sentence in sentences:
            print(f"BROKEN {one.name}: {sentence}")
    if options.write and not broken:
        pathlib.Path(options.write).write_text(text)
    slowest = {what: max((took(what, one.found) for one in runs if one.case.situation[1] == what and one.found), default=0) for what in DEADLINE_MS}
    print("The slowest took " + ", ".join(f"{ms} ms ({what})" for what, ms in slowest.items()) + ".")
    late = [too_late(one.case.situation[1], one.found) for one in delayed]
    print(f"{sum(one > 0 for one in late)} runs were late, by at most {max(late, default=0)} ms.")
    print(f"{len(runs)} of {total} cases in {time.monotonic() - began:.0f} s.")
    print(f"{len(results) - len(broken)} passed, {len(broken)} failed")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
