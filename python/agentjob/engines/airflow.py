"""An Airflow operator that sends a message at most once, however often Airflow runs the task.

    from agentjob.engines.airflow import AgentJobMessage

    AgentJobMessage(task_id="tests", job_id="job_123", prompt="Add the missing tests")

While the job works, the task is deferred: no worker slot is held, and the trigger carries the state of the wait.
"""

from __future__ import annotations

import asyncio
import json
import time
from contextlib import suppress
from functools import lru_cache
from typing import Any, AsyncIterator, Dict, NoReturn, Optional, Sequence, Tuple

from airflow.sdk import BaseHook, BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent

try:
    from airflow.sdk.exceptions import AirflowFailException
except ImportError:  # before Airflow 3.3
    from airflow.exceptions import AirflowFailException

from .. import _native, errors
from .._native import Client, Poller
from .._once import lookup
from ..aio import AsyncClient
from ..errors import Error, RateLimitError, StepInFlightError, StoreError, WaitTimeoutError
from ..once import Once
from ._common import begun_wait, check_wait_options, checked, refused, send_without_waiting

CONNECTION = "agentjob_default"
WAIT_OPTIONS = {"timeout", "min_interval", "max_interval", "lateness", "settle"}


class AgentJobHook(BaseHook):
    """The steps and the client of an Airflow connection of type `agentjob`.

    Its host is the service's base URL, and its password is the API key. Its extra, a JSON object, has `store`, where the steps are (see
    agentjob.once.Once), and may have `project_id`, `rate` and other settings of agentjob.Client by name. What it doesn't have is taken from
    the environment of the worker, as agentjob.Client does.
    """

    conn_name_attr = "agentjob_conn_id"
    default_conn_name = CONNECTION
    conn_type = "agentjob"
    hook_name = "agentjob"

    def __init__(self, agentjob_conn_id: str = CONNECTION) -> None:
        super().__init__()
        self.agentjob_conn_id: str = agentjob_conn_id

    def get_conn(self) -> Once:
        """The steps of the connection."""
        settings = self._settings(self.get_connection(self.agentjob_conn_id))
        store, rate = settings.pop("store", None), settings.pop("rate", None)
        if store is None:
            raise refused(f"the connection {self.agentjob_conn_id!r} has no store", 'Give its extra a "store": where the steps are.')
        return checked(Once(Client(**settings), store, rate=rate))

    async def get_async_client(self) -> AsyncClient:
        """A client that polls jobs on the event loop of a triggerer, all of whose triggers share it."""
        settings = self._settings(await self.aget_connection(self.agentjob_conn_id))
        return _async_client(json.dumps({name: value for name, value in settings.items() if name not in ("store", "rate")}))

    def _settings(self, connection: Any) -> Dict[str, Any]:
        for name in ("port", "schema", "login"):
            if getattr(connection, name):
                hint = "Leave it out: the host is the whole base URL, as https://HOST:PORT."
                raise refused(f"the connection {self.agentjob_conn_id!r} has a {name}", hint)
        settings = {"base_url": connection.host, "api_key": connection.password, **connection.extra_dejson}
        return {name: value for name, value in settings.items() if value not in (None, "")}


@lru_cache(maxsize=4)
def _async_client(settings: str) -> AsyncClient:
    return AsyncClient(**json.loads(settings))


class AgentJobTrigger(BaseTrigger):
    """Waits for a job, or until a time.

    agentjob_conn_id: the connection. poller: the text of the wait. until: without one, until when to wait, in seconds since 1970.
    """

    agentjob_conn_id: str
    poller: Optional[str]
    until: float

    def __init__(self, agentjob_conn_id: str, poller: Optional[str] = None, until: float = 0.0) -> None:
        super().__init__()
        self.agentjob_conn_id, self.poller, self.until = agentjob_conn_id, poller, until

    def serialize(self) -> Tuple[str, Dict[str, Any]]:
        """What another triggerer starts it again from."""
        arguments = {"agentjob_conn_id": self.agentjob_conn_id, "poller": self.poller, "until": self.until}
        return f"{__name__}.{type(self).__name__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Polls the job until it is done. The event has the result, and what is stored of it; or the error, as its class and its arguments."""
        if self.poller is None:
            await asyncio.sleep(max(0.0, self.until - time.time()))
            yield TriggerEvent(None)
            return
        try:
            client = await AgentJobHook(self.agentjob_conn_id).get_async_client()
            poller = client.resume(self.poller)
            while not poller.done:
                await asyncio.sleep(poller.due_in)
                await poller.poll()
            event: Dict[str, Any] = {"job": poller.job, "record": _native.stored_wait(client._client, poller._poller)[0]}
        except Error as error:
            event = {"error": [type(error).__name__, *error.args], "is_final": _is_final(error)}
        yield TriggerEvent(event)


class AgentJobMessage(BaseOperator):
    """Sends a message to a job at most once, and follows the job. What it returns is the job's record.

    job_id, prompt: the message.
    key: names the message; see Once.send_message. Default: "{dag_id}/{run_id}/{task_id}/{map_index}", so a task that is cleared sends nothing
        that was accepted or may have arrived.
    agentjob_conn_id: the connection; see AgentJobHook. Default: "agentjob_default".
    wait: waits until the job is done. Default: True.
    deferrable: waits in the triggerer instead of in a worker slot. Default: True, because jobs take minutes.
    check: fails if the job failed. Default: True.
    wait_options: those of Once.wait, in a dict: timeout, min_interval, max_interval, lateness, settle.

    job_id, prompt and key are templates. Give it `retries`: a retry never sends the message twice. A failure that a retry can't help against
    fails the task at once: the message may have arrived (resolve() the step), or was rejected for good. A rate limit takes no retry: the task is
    deferred for its time, unless it is not deferrable.
    """

    template_fields: Sequence[str] = ("job_id", "prompt", "key")
    job_id: str
    prompt: str
    key: str
    agentjob_conn_id: str
    wait: bool
    deferrable: bool
    check: bool
    wait_options: Dict[str, Any]

    def __init__(
        self,
        *,
        job_id: str,
        prompt: str,
        key: str = "{{ ti.dag_id }}/{{ ti.run_id }}/{{ ti.task_id }}/{{ ti.map_index }}",
        agentjob_conn_id: str = CONNECTION,
        wait: bool = True,
        deferrable: bool = True,
        check: bool = True,
        wait_options: Optional[Dict[str, Any]] = None,
        **arguments: Any,
    ) -> None:
        super().__init__(**arguments)
        for name, given in {"wait": wait, "deferrable": deferrable, "check": check}.items():
            if not isinstance(given, bool):
                raise TypeError(f"{name} must be True or False, not {type(given).__name__}")
        unknown = set(wait_options or {}) - WAIT_OPTIONS
        if unknown:
            raise TypeError(f"wait_options can't have {min(unknown)!r}: give {', '.join(sorted(WAIT_OPTIONS))}; headers are in the connection's extra")
        self.job_id, self.prompt, self.key, self.agentjob_conn_id = job_id, prompt, key, agentjob_conn_id
        self.wait, self.deferrable, self.check, self.wait_options = wait, deferrable, check, wait_options or {}

    def execute(self, context: Any, event: object = None) -> Any:
        """Sends the message, or continues with what is known of it."""
        try:
            once = AgentJobHook(self.agentjob_conn_id).get_conn()
            options = check_wait_options(once.client, self.wait_options)
            if not self.deferrable:
                job = once.send_message(self.key, self.job_id, self.prompt)
                return once.wait(self.key, check=self.check, **self.wait_options) if self.wait else job
            job = send_without_waiting(once, self.key, self.job_id, self.prompt, None)
            if not self.wait:
                return job
            _, poller = begun_wait(once, self.key, None, options)
            if not isinstance(poller, Poller):
                return lookup.checked(poller, self.check)
        except (Error, TypeError) as error:
            self._fail(error)
        self.defer(trigger=AgentJobTrigger(self.agentjob_conn_id, str(poller)), method_name="execute_complete")

    def execute_complete(self, context: Any, event: Dict[str, Any]) -> Any:
        """Records the result, when the trigger has seen it."""
        try:
            if "error" in event:
                name, *arguments = event["error"]
                error = getattr(errors, name)(*arguments)
                raise AirflowFailException(str(error)) if event["is_final"] else error
            job, store = event["job"], AgentJobHook(self.agentjob_conn_id).get_conn().store
            with suppress(StoreError):  # the result counts, also if it can't be recorded
                job = lookup.finished(store, lookup.accepted(store, self.key), job, event["record"])
            return lookup.checked(job, self.check)
        except Error as error:
            self._fail(error)

    def _fail(self, error: Exception) -> NoReturn:
        if _is_final(error):
            raise AirflowFailException(str(error)) from error
        retry = _native.step_retry(error, 0, 1)
        if isinstance(error, (RateLimitError, StepInFlightError)) and retry is not None and self.deferrable:
            self.defer(trigger=AgentJobTrigger(self.agentjob_conn_id, until=time.time() + retry[0]), method_name="execute")
        raise error


def _is_final(error: Exception) -> bool:
    """Whether a retry of the task doesn't help."""
    return _native.step_retry(error, 0, 1) is None and not isinstance(error, WaitTimeoutError)
