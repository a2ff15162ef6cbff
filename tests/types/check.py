"""Runs mypy and pyright on right.py and wrong.py, which are code of a user of the installed package: each must report an error on
exactly the lines that say `# wrong`. `python check.py FOLDER`: FOLDER has the type checkers' environment, venv."""

import json
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


def main():
    folder, wrong = pathlib.Path(sys.argv[1]).resolve(), False
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
