"""Checks that each public name of the installed package has a type, and runs mypy and pyright on right.py and wrong.py, which are code of a user:
each must report an error on exactly the lines that say `# wrong`. `python check.py FOLDER`: FOLDER has the type checkers' environment, venv."""

import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILES = ["right.py", "wrong.py"]
#: The oldest Python that the package supports, or the oldest one that the checker knows, and a new one.
VERSIONS = ["3.10", "3.13"]


def expected():
    lines = {(name, n) for name in FILES for n, line in enumerate((HERE / name).read_text("utf-8").splitlines(), 1) if "  # wrong" in line}
    assert len(lines) > 10, lines
    return lines


def mypy(folder, version):
    command = [folder / "venv/bin/mypy", "--strict", "--python-version", version, "--cache-dir", folder / "cache", "--no-error-summary"]
    ran = subprocess.run([*command, *FILES], cwd=HERE, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return {(name, int(line)) for name, line in re.findall(r"^(\w+\.py):(\d+): error:", ran.stdout, re.M)}, ran.stdout


def pyright(folder, version):
    python = folder / "venv/bin/python"
    command = [folder / "venv/bin/pyright", "--outputjson", "--pythonversion", version, "--pythonpath", python, *FILES]
    ran = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    found = [entry for entry in json.loads(ran.stdout)["generalDiagnostics"] if entry["severity"] == "error"]
    places = {(pathlib.Path(entry["file"]).name, entry["range"]["start"]["line"] + 1) for entry in found}
    return places, "\n".join(entry["message"] for entry in found)


def incomplete(folder):
    """The public names of the package that have no type. The engines, from which some classes inherit, are not installed here."""
    command = [folder / "venv/bin/pyright", "--verifytypes", "agentjob", "--ignoreexternal", "--outputjson"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": f"{folder}/venv/bin:{os.environ['PATH']}"})
    symbols = json.loads(ran.stdout)["typeCompleteness"]["symbols"]
    assert sum(symbol["isExported"] for symbol in symbols) > 500, ran.stdout
    for symbol in symbols:
        messages = {entry["message"] for entry in symbol["diagnostics"]}
        is_engine = symbol["name"].startswith("agentjob.engines.") and messages == {"Type of metaclass unknown", "Type of base class unknown"}
        if symbol["isExported"] and not symbol["isTypeKnown"] and not is_engine:
            yield symbol["name"], sorted(messages)


def main():
    folder, wrong = pathlib.Path(sys.argv[1]).resolve(), False
    for name, messages in incomplete(folder):
        print(f"{name} has no type: {messages}")
        wrong = True
    for checker in (mypy, pyright):
        for version in VERSIONS:
            found, said = checker(folder, version)
            missed, extra = sorted(expected() - found), sorted(found - expected())
            print(f"{checker.__name__}, Python {version}: {len(found)} errors, {len(missed)} missed, {len(extra)} too many")
            if missed or extra:
                print(f"  missed: {missed}\n  too many: {extra}\n{said}")
                wrong = True
    sys.exit(wrong)


if __name__ == "__main__":
    main()
