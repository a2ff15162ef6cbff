"""An emulator of the service, in your own process: test your scripts without the service and its hourly limit.

With pytest, ask for the fixture; installing agentjob is all it takes:

    def test_my_script_says_what_it_wants(agentjob_emulator):
        my_script()                                     # its agentjob.Client() talks to the emulator, and waits are quick
        assert [message["prompt"] for message in agentjob_emulator.ledger()] == ["Also cover the error cases"]

`agentjob_emulator` sets the AGENTJOB_ variables for the test and restores them afterwards. `agentjob_client` is a client of the same
emulator. Configure the emulator with a marker, `@pytest.mark.agentjob_emulator(work_ms=500, outcome="failed")`, or in the test,
`agentjob_emulator.reset(outcome="failed")`.

Elsewhere make one yourself:

    with Emulator(work_ms=20) as emulator, emulator.client() as client:
        my_script(client, emulator.job_id)

It implements the whole contract on loopback, over real sockets, and injects the faults that you ask for:
`Emulator(rules=[{"method": "POST", "nth": 1, "status": 503}])`. `help(Emulator)` lists the configuration; the
emulator's page of the documentation has the rules.
"""

import json
from typing import TYPE_CHECKING, Any, Callable, Dict, List, Literal, Mapping, Optional, Sequence, Union

from ._native import Client
from ._native import Emulator as _Emulator
from ._typed_dict import TypedDict

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    _Options = ParamSpec("_Options")

__all__ = ["Drip", "Emulator", "Fault", "Rule"]

#: What a message's job becomes. A union of Literals, as in agentjob.types.
Outcome = Union[Literal["completed"], Literal["archived"], Literal["failed"]]

#: How often a wait polls the emulator at first, in seconds.
MIN_INTERVAL = 0.02
#: For how many seconds a client of the emulator may take a finished record for the previous result. The emulator shows a message's
#: effect at once, unless `stale_ms` says otherwise.
SETTLE = 0.25


class Drip(TypedDict):
    """How a response is written in pieces."""

    bytes: int
    every_ms: int


class _Death(TypedDict):
    """What every fault has."""

    do: Union[Literal["close"], Literal["reset"], Literal["stall"]]
    at: str
    """accept; head:N or body:N, after N bytes of it were read; request, everything was read and nothing responded; response:N, after N
    bytes of the response."""


class Fault(_Death, total=False):
    """How a connection dies."""

    process: bool
    """Whether the message is processed. By default it is only after the beginning of a response."""
    ms: int
    """How long a stall lasts before it closes. 30000."""


_From = TypedDict("_From", {"from": int}, total=False)  # a keyword of Python


class Rule(_From, total=False):
    """How the emulator departs from the contract. The first rule that matches a request wins.

    method, path, nth, from (the n-th and later) and connection select requests; a rule without them matches every request. The
    others say what happens.
    """

    method: str
    path: str
    """The path without its query; * stands for one segment."""
    nth: int
    """The n-th, from 1, of the requests that the other matchers match."""
    connection: int
    """Requests on the n-th accepted connection."""
    status: int
    headers: Mapping[str, str]
    json: object
    body: str
    raw: str
    """The whole response from the status line on, one character a byte."""
    process: bool
    """Whether a valid message is processed. By default it is if the status is a 2xx."""
    delay_ms: int
    interim: str
    framing: Union[Literal["length"], Literal["chunked"], Literal["close"]]
    content_length: int
    drip: Drip
    endless: Union[Literal["headers"], Literal["chunks"], Literal["body"]]
    early: bool
    """Responds when the head was read."""
    linger_ms: int
    after_response: Union[Literal["close"], Literal["reset"], Literal["close_notify"]]
    after_response_ms: int
    fault: Fault


def _takes_options_of(
    client: "Callable[_Options, Client]",
) -> "Callable[[Callable[..., Client]], Callable[Concatenate[Any, _Options], Client]]":
    """For type checkers: the method takes what the class does."""
    return lambda method: method


class Emulator:
    """An agent-job service on loopback. It runs until `stop()`, until its `with` block ends, or until neither it nor a client of
    `client()` is in use any more.

    - api_key, project_id: what requests must carry. "emulator_0123456789abcdef", "demo".
    - port: the port to listen on. 0: a free one.
    - work_ms: how long a message keeps its job active. 1500.
    - outcome: what the job becomes then: "completed", "archived" or "failed". "completed".
    - stale_ms: for how long after a message a finished job still shows its previous record. 0.
    - stale_post: whether the response to the message shows it, too. True.
    - busy: whether a message to an active job gets a 409. False.
    - visible_after_ms: for how long a created job is not found. 0.
    - hourly_limit: how many messages and jobs are accepted in an hour, before 429. 100.
    - jobs: job records, of which only `id` is required. `finish_after_ms`, which is not part of the record, ends an active job.
      One completed job, job_demo.
    - rules: how the emulator departs from the contract, and dies; see Rule.
    - keep_prompts, keep_requests: whether ledger() has the prompts and requests() the requests. True.
    """

    def __init__(
        self,
        *,
        api_key: Optional[str] = None,
        project_id: Optional[str] = None,
        port: Optional[int] = None,
        work_ms: Optional[int] = None,
        outcome: Optional[Outcome] = None,
        stale_ms: Optional[int] = None,
        stale_post: Optional[bool] = None,
        busy: Optional[bool] = None,
        visible_after_ms: Optional[int] = None,
        hourly_limit: Optional[int] = None,
        jobs: Optional[Sequence[Mapping[str, object]]] = None,
        rules: Optional[Sequence[Rule]] = None,
        keep_prompts: Optional[bool] = None,
        keep_requests: Optional[bool] = None,
    ) -> None:
        config = _given(locals())
        self._native = _Emulator(json.dumps(config))
        self._stale_ms = stale_ms or 0

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

    @_takes_options_of(Client)
    def client(self, **options: Any) -> Client:
        """A client of the emulator. `options` are those of `agentjob.Client`, and override the emulator's settings.

        It ignores the proxy variables, so a test is the same on every machine, and its waits poll often. The emulator runs at least
        as long as the client exists, unless it is stopped.
        """
        settings: Dict[str, Any] = {
            "base_url": self.base_url,
            "project_id": self.project_id,
            "trust_env": False,
            "min_interval": MIN_INTERVAL,
            "settle": self._settle,
        }
        if "api_key_file" not in options:
            settings["api_key"] = self.api_key
        return Client(**{**settings, **options})._keeping(self._native)

    def environment(self) -> Dict[str, str]:
        """The AGENTJOB_ variables for a program that uses the emulator: `{**os.environ, **emulator.environment()}`.

        An unmodified program is quick with them: its waits poll every 20 ms at first.
        """
        return {
            "AGENTJOB_BASE_URL": self.base_url,
            "AGENTJOB_API_KEY": self.api_key,
            "AGENTJOB_PROJECT_ID": self.project_id,
            "AGENTJOB_MIN_INTERVAL": str(MIN_INTERVAL),
            "AGENTJOB_SETTLE": str(self._settle),
        }

    @property
    def _settle(self) -> float:
        return SETTLE + self._stale_ms / 1000

    def ledger(self) -> List[Dict[str, Any]]:
        """Every message that was processed, oldest first: dicts with n, job_id, prompt, kind, pr_link, at_ms, request."""
        return self._native.ledger()

    def requests(self) -> Dict[str, Any]:
        """Every request that was started: {"connections", "total", "requests": [{"method", "path", "headers", "status", …}]}."""
        return self._native.requests()

    def reset(
        self,
        *,
        api_key: Optional[str] = None,
        project_id: Optional[str] = None,
        port: Optional[int] = None,
        work_ms: Optional[int] = None,
        outcome: Optional[Outcome] = None,
        stale_ms: Optional[int] = None,
        stale_post: Optional[bool] = None,
        busy: Optional[bool] = None,
        visible_after_ms: Optional[int] = None,
        hourly_limit: Optional[int] = None,
        jobs: Optional[Sequence[Mapping[str, object]]] = None,
        rules: Optional[Sequence[Rule]] = None,
        keep_prompts: Optional[bool] = None,
        keep_requests: Optional[bool] = None,
    ) -> None:
        """Starts over with another configuration, as for the class: jobs, rules, ledger and counters. Connections stay open, and the
        port stays."""
        config = _given(locals())
        self._native.reset(json.dumps(config))
        self._stale_ms = stale_ms or 0

    def set_api_key(self, api_key: str) -> None:
        """Takes only this key from now on, as a service does whose keys rotate. Everything else stays."""
        self._native.set_api_key(api_key)

    def stop(self) -> None:
        """Stops listening and closes every connection. The ledger can still be read. A second call does nothing."""
        self._native.stop()


def _given(arguments: Dict[str, Any]) -> Dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "self" and value is not None}
