#!/usr/bin/env python3
"""Races agentjob against its peers on the same work and writes RESULTS.md: what `make bench` runs when everything is built.

    bench.py --emulator PROGRAM --library FILE --build FOLDER [--quick] [--sections warm,cold,…]

FOLDER has the entrants (rust/, c/), the interpreters (venv/, niquests/) and the wheels (wheels/). Sections that are not selected
keep their last results; the page is about the machine that measured all of them, and says where one comes from another. `--page`
measures nothing and writes RESULTS.md from the results.
"""

import argparse
import os
import pathlib
import re
import time

import machine
import report
import results_file
from lineup import Lineup
from sections import SECTIONS

#: Environment variables that would make entrants use a proxy or trust other certificates.
FOREIGN = re.compile(r"(https?|all|no)_proxy|(requests|curl)_ca_bundle|agentjob_.*", re.IGNORECASE)
HERE = pathlib.Path(__file__).parent
RESULTS = HERE / "results.json"


class Setting:
    """What a section needs."""

    def __init__(self, options):
        self.build = build = options.build.resolve()
        self.quick = options.quick
        self.emulator = options.emulator.resolve()
        self.library = options.library.resolve()
        self.fixed = build / "rust/fixed"
        self.batch = build / "rust/batch"
        self.wheels = [build / "wheels", options.wheel.resolve().parent]
        self.lineup = Lineup(build, str(build / "venv/bin/python"), str(build / "niquests/bin/python"))

    def count(self, full, quick):
        """How many runs."""
        return quick if self.quick else full


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", type=pathlib.Path)
    parser.add_argument("--library", type=pathlib.Path, help="libagentjob.so")
    parser.add_argument("--wheel", type=pathlib.Path, help="agentjob's wheel")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="fewer runs: rough figures in about four minutes")
    parser.add_argument("--sections", default=",".join(SECTIONS))
    parser.add_argument("--results", type=pathlib.Path, default=RESULTS, help="where the results are kept")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    if not options.page:
        measure(options)
    report.write(results_file.read(options.results), options.results.parent)


def measure(options):
    for name in filter(FOREIGN.fullmatch, list(os.environ)):
        del os.environ[name]
    setting = Setting(options)
    options.results.parent.mkdir(parents=True, exist_ok=True)
    results = results_file.read(options.results) if options.results.exists() else {"sections": {}}
    described, sections = machine.describe(setting), options.sections.split(",")
    if "machine" not in results or set(sections) == set(SECTIONS):
        results.update(machine=described, skipped=setting.lineup.skipped)
    # A section may have entrants that the others don't.
    results["machine"]["versions"] = {**described["versions"], **results["machine"]["versions"]}
    for name in sections:
        began = time.monotonic()
        tables = SECTIONS[name].run(setting)
        took = time.monotonic() - began
        results["sections"][name] = {
            "title": SECTIONS[name].TITLE,
            "date": machine.today(),
            "quick": setting.quick,
            "processor": described["processor"],
            "tables": tables,
        }
        results["sections"] = {known: results["sections"][known] for known in SECTIONS if known in results["sections"]}
        results_file.write(options.results, results)
        print(f"{SECTIONS[name].TITLE}: {took:.0f} s", flush=True)
        for table in tables:
            print(report.plain(table), flush=True)


if __name__ == "__main__":
    main()
