"""What others check before or after an upload: that an index takes the wheels and shows their page, that what a wheel promises in its
name is true, and that it holds no surplus file."""

import importlib.util
import re
import sys

import pytest
from conftest import run

needs = {
    name: pytest.mark.skipif(importlib.util.find_spec(name) is None, reason=f"{name} cannot be installed with this Python")
    for name in ("twine", "check_wheel_contents", "abi3audit", "auditwheel")
}


@needs["twine"]
def test_an_index_takes_it_and_can_show_its_readme(wheel):
    run(sys.executable, "-m", "twine", "check", "--strict", wheel)


@needs["check_wheel_contents"]
def test_it_holds_no_surplus_file(wheel):
    run(sys.executable, "-m", "check_wheel_contents", "--toplevel", "agentjob,agentjob_pytest", wheel)


@needs["abi3audit"]
def test_it_uses_only_the_stable_abi_of_its_oldest_python(wheel):
    if "-cp39-abi3-" not in wheel.name:
        pytest.skip("abi3audit knows only Pythons with the GIL")
    run(sys.executable, "-m", "abi3audit", "--strict", "--report", wheel)


@needs["auditwheel"]
def test_auditwheel_calls_it_consistent_with_its_name(wheel):
    if "manylinux" not in wheel.name or sys.platform != "linux":
        pytest.skip("no wheel for a Linux with glibc")
    said = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel).split())
    found = re.search(r'platform tag(?: to|:) "manylinux_2_(\d+)_', said)
    assert found and int(found[1]) <= 17, said
