"""An emulator of the service, in your own process: test your scripts without the service and its hourly limit.

    import pytest
    from agentjob.testing import Emulator

    @pytest.fixture
    def emulator():
        with Emulator(work_ms=20) as emulator:
            yield emulator

    def test_my_script_says_what_it_wants(emulator):
        with emulator.client() as client:
            my_script(client, emulator.job_id)
        assert [message["prompt"] for message in emulator.ledger()] == ["Also cover the error cases"]

It implements the whole contract on loopback, over real sockets, and injects the faults that you ask for:
`Emulator(rules=[{"method": "POST", "nth": 1, "status": 503}])`. `tests/emulator/README.md` in the project documents every field of
the configuration.
"""

import json
from typing import Any, Dict, List

from ._native import Client
from ._native import Emulator as _Emulator

__all__ = ["Emulator"]


class Emulator:
    """An agent-job service on loopback. It runs until `stop()`, or until its `with` block ends.

    config: the configuration's fields, as keywords; `Emulator(work_ms=20, outcome="failed")`.
    """

    def __init__(self, **config: Any) -> None:
        self._native = _Emulator(json.dumps(config))

    def __enter__(self) -> "Emulator":
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Emulator at {self.base_url}>"

    @property
    def base_url(self) -> str:
        """Its URL."""
        return self._native.base_url

    @property
    def api_key(self) -> str:
        """The key that it accepts."""
        return self._native.api_key

    @property
    def project_id(self) -> str:
        """Its project."""
        return self._native.project_id

    @property
    def job_id(self) -> str:
        """Its first job."""
        return self._native.job_id

    def client(self, **options: Any) -> Client:
        """A client of the emulator. `options` are those of `agentjob.Client`, and override the emulator's settings.

        It ignores the proxy variables, so a test is the same on every machine.
        """
        settings: Dict[str, Any] = {
            "base_url": self.base_url,
            "project_id": self.project_id,
            "trust_env": False,
        }
        if "api_key_file" not in options:
            settings["api_key"] = self.api_key
        return Client(**{**settings, **options})

    def environment(self) -> Dict[str, str]:
        """The AGENTJOB_ variables for a subprocess that uses the emulator: `{**os.environ, **emulator.environment()}`."""
        return {
            "AGENTJOB_BASE_URL": self.base_url,
            "AGENTJOB_API_KEY": self.api_key,
            "AGENTJOB_PROJECT_ID": self.project_id,
        }

    def ledger(self) -> List[Dict[str, Any]]:
        """Every message that was processed, oldest first: dicts with n, job_id, prompt, kind, at_ms, request."""
        return self._native.ledger()

    def requests(self) -> Dict[str, Any]:
        """Every request that was started: {"connections", "total", "requests": [{"method", "path", "headers", "status", …}]}."""
        return self._native.requests()

    def reset(self, **config: Any) -> None:
        """Starts over with another configuration: jobs, rules, ledger and counters. Connections stay open."""
        self._native.reset(json.dumps(config))

    def stop(self) -> None:
        """Stops listening and closes every connection. The ledger can still be read. A second call does nothing."""
        self._native.stop()
