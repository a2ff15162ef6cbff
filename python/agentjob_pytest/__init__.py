"""The fixtures that agentjob brings to pytest; `pytest --fixtures` shows them, and agentjob.testing documents them.

A package of its own: pytest imports it in every run, and a run that does not ask for these fixtures does not import agentjob.
"""

from __future__ import annotations

import os

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agentjob import Client
    from agentjob.testing import Emulator

MARKER = "agentjob_emulator(work_ms=..., outcome=..., rules=..., ...): the configuration of the fixture agentjob_emulator"
#: How long a message keeps its job active, in milliseconds, unless the marker says otherwise.
WORK_MS = 50


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


@pytest.fixture
def agentjob_emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """An emulator of the agent-job service for this test, an agentjob.testing.Emulator.

    The AGENTJOB_ variables lead to it for the test, so that the code that is tested needs no arguments, and its waits are quick.
    Afterwards they are what they were. @pytest.mark.agentjob_emulator(outcome="failed") configures it.
    """
    from agentjob.testing import Emulator

    configuration = {"work_ms": WORK_MS}
    for marker in reversed(list(request.node.iter_markers("agentjob_emulator"))):  # the test's own last
        configuration.update(marker.kwargs)
    with Emulator(**configuration) as emulator, pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("AGENTJOB_")]:
            environment.delenv(name)
        for name, value in emulator.environment().items():
            environment.setenv(name, value)
        yield emulator


@pytest.fixture
def agentjob_client(agentjob_emulator: Emulator) -> Iterator[Client]:
    """An agentjob.Client of the fixture agentjob_emulator. It is closed after the test."""
    with agentjob_emulator.client() as client:
        yield client
