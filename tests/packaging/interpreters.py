"""Which Pythons are on this machine. As a program: runs tests/python against the wheels in --dist, as pip takes them from there: the
whole of it with the Python that runs this, and with every other one the part that depends on the interpreter (or all of it: --whole)."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSIONS = ["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15", "3.14t", "3.15t"]
TELL = "import sys; print('%d.%d' % sys.version_info[:2] + ('' if getattr(sys, '_is_gil_enabled', lambda: True)() else 't'))"
#: The interpreter's end, its threads, signals and forks, its SQLite, its exceptions and its signatures: a minute. The rest is the same
#: code in each.
PART = ["interpreter_end", "threads", "signals", "once_forks", "once_sqlite", "errors", "calls", "arguments", "surface"]
NEEDED = ("pytest", "anyio", "trio", "rich")


def interpreter(version):
    """The Python of this version: this one, on the PATH, or pyenv's."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    named = [sys.executable, shutil.which(f"python{version}"), *pyenv.glob(f"versions/*/bin/python{version}")]
    for python in filter(None, named):
        ran = subprocess.run([python, "-c", TELL], capture_output=True, text=True)
        if ran.returncode == 0 and ran.stdout.strip() == version:
            return python
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dist", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="where the environments are made")
    parser.add_argument("--whole", action="store_true", help="all of tests/python with every Python, which takes minutes with each")
    options = parser.parse_args()
    mine = subprocess.run([sys.executable, "-c", TELL], capture_output=True, text=True, check=True).stdout.strip()
    failed = []
    for version in [mine, *(version for version in VERSIONS if version != mine)]:
        python = interpreter(version)
        if python is None:
            print(f"SKIPPED: there is no Python {version} here to run tests/python with", flush=True)
        elif not passes(python, options, version, whole=options.whole or version == mine):
            failed.append(version)
    return f"tests/python failed with Python {', '.join(failed)}" if failed else 0


def passes(python, options, version, whole):
    folder = options.build / (f"{version}-whole" if whole else version)
    print(f"tests/python with Python {version}: {'all of it' if whole else ', '.join(PART)}", flush=True)
    wanted = (ROOT / "tests" / "python" / "requirements.txt").read_text("utf-8").splitlines()
    wanted = [line for line in wanted if line.startswith(NEEDED) or (whole and not line.startswith(("#", "maturin")))]
    ready = folder / "ready"
    if not ready.exists() or ready.read_text("utf-8").splitlines() != wanted:
        if subprocess.run([python, "-m", "venv", "--clear", folder]).returncode:
            print(f"{'FAILED' if options.whole else 'SKIPPED'}: Python {version} can't make an environment to run tests/python in", flush=True)
            return not options.whole
        pip(folder, *wanted)
        ready.write_text("\n".join(wanted), "utf-8")
    pip(folder, "--no-index", "--find-links", options.dist, "--force-reinstall", "agentjob")
    tests = ROOT / "tests" / "python"
    files = [tests] if whole else sorted(file for part in PART for file in tests.glob(f"test_{part}*.py"))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [folder / "bin" / "python", "-m", "pytest", "-q", "-rs", "-n", "6", "-p", "no:cacheprovider", *files]
    return subprocess.run(command, cwd=ROOT, env=environment).returncode == 0


def pip(folder, *wanted):
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted], check=True)


if __name__ == "__main__":
    sys.exit(main())
