"""Every Python block of the README runs as it stands."""

import pathlib
import re

import pytest

from agentjob.testing import Emulator

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text("utf-8"), re.M | re.S)


def test_there_are_blocks():
    assert len(BLOCKS) >= 2


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.splitlines()[0])
def test_a_block_of_the_readme(block, monkeypatch, capsys):
    with Emulator(jobs=[{"id": "job_123"}], work_ms=20) as emulator:
        for name, value in emulator.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        exec(compile(block, str(README), "exec"), {"__name__": "readme"})
        if "print(job" in block:
            assert capsys.readouterr().out.startswith("completed https://")
