"""What the packaging tests share: where the wheels are, and environments with nothing in them."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SMOKE = ROOT / "tests" / "packaging" / "smoke.py"
#: Building from source takes a minute or two on two cores.
PATIENCE = 1200


def pytest_addoption(parser):
    parser.addoption("--dist", type=pathlib.Path, default=ROOT / "build" / "dist", help="the folder with the wheels")
    parser.addoption("--release", type=pathlib.Path, help="the folder with a whole release, for test_release.py")
    parser.addoption("--platforms", choices=["here", "all", "any"], default="here", help="which wheels must be there")


def pytest_generate_tests(metafunc):
    if "wheel" in metafunc.fixturenames:
        wheels = sorted(metafunc.config.getoption("dist").glob("*.whl"))
        metafunc.parametrize("wheel", wheels, ids=[wheel.name for wheel in wheels])


@pytest.fixture(scope="session")
def dist(request):
    return request.config.getoption("dist")


def run(*command, **options):
    """Runs a command, and returns what it printed."""
    options.setdefault("env", clean_environment())
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=PATIENCE, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def clean_environment(**variables):
    """This process's environment without the variables that configure an interpreter or agentjob."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTJOB_", "PYTHON"))}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}


class Environment:
    """A virtual environment with nothing in it but pip."""

    def __init__(self, folder, python):
        run(python, "-m", "venv", folder)
        self.python = folder / "bin" / "python"

    def install(self, *arguments, **variables):
        run(self.python, "-m", "pip", "install", "--quiet", *arguments, env=clean_environment(**variables))

    def does_the_main_job(self):
        """Which native module it did it with."""
        completed, _version, module = run(self.python, "-I", SMOKE).split()
        assert completed == "completed"
        return module


@pytest.fixture
def environment(tmp_path):
    def make(python=sys.executable):
        return Environment(tmp_path / "venv", python)

    return make
