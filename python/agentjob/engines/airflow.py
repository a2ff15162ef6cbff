"""An Airflow operator that sends a message at most once, however often Airflow runs the task.

    from agentjob.engines.airflow import AgentJobMessage

    AgentJobMessage(task_id="tests", job_id="job_123", prompt="Add the missing tests")

While the job works, the task is deferred: no worker slot is held, and the trigger carries the state of the wait.
"""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Dict, NoReturn, Optional, Sequence, Tuple

from airflow.sdk import BaseHook, BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent

try:
    from airflow.sdk.exceptions import AirflowFailException
except ImportError:  # before Airflow 3.3
    from airflow.exceptions import AirflowFailException

from .._native import Client
from ..aio import AsyncClient
from ..errors import Error, RateLimitError
from ..once import Once
from ..types import Job
from ._common import MAX_FAILURES, pause_after, poller_options, refused

CONNECTION = "agentjob_default"


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
        return Once(Client(**settings), store, rate=rate)

    async def get_async_client(self) -> AsyncClient:
        """A client that polls jobs on the event loop of a trigger."""
        settings = self._settings(await self.aget_connection(self.agentjob_conn_id))
        return AsyncClient(**{name: value for name, value in settings.items() if name not in ("store", "rate")})

    @staticmethod
    def _settings(connection: Any) -> Dict[str, Any]:
        settings = {"base_url": connection.host, "api_key": connection.password, **connection.extra_dejson}
        return {name: value for name, value in settings.items() if value not in (None, "")}


class AgentJobTrigger(BaseTrigger):
    """Waits for a job, or for a time. agentjob_conn_id: the connection. poller: the text of the wait. seconds: how long to wait without one."""

    agentjob_conn_id: str
    poller: Optional[str]
    seconds: float

    def __init__(self, agentjob_conn_id: str, poller: Optional[str] = None, seconds: float = 0.0) -> None:
        super().__init__()
        self.agentjob_conn_id, self.poller, self.seconds = agentjob_conn_id, poller, seconds

    def serialize(self) -> Tuple[str, Dict[str, Any]]:
        """What another triggerer starts it again from."""
        arguments = {"agentjob_conn_id": self.agentjob_conn_id, "poller": self.poller, "seconds": self.seconds}
        return f"{__name__}.{type(self).__name__}", arguments

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Polls the job until it is done. The event has the error that ended the wait, or None."""
        if self.poller is None:
            await asyncio.sleep(self.seconds)
            yield TriggerEvent(None)
            return
        problem = None
        try:
            async with await AgentJobHook(self.agentjob_conn_id).get_async_client() as client:
                poller = client.resume(self.poller)
                while not poller.done:
                    await asyncio.sleep(poller.due_in)
                    await poller.poll()
        except Error as error:
            problem = str(error)
        yield TriggerEvent(problem)


class AgentJobMessage(BaseOperator):
    """Sends a message to a job at most once, and follows the job. What it returns is the job's record.

    job_id, prompt: the message.
    key: names the message; see Once.send_message. Default: "{dag_id}/{run_id}/{task_id}/{map_index}", so a task that is cleared sends nothing.
    agentjob_conn_id: the connection; see AgentJobHook. Default: "agentjob_default".
    wait: waits until the job is done. Default: True.
    deferrable: waits in the triggerer instead of in a worker slot. Default: True.
    check: fails if the job failed. Default: True.
    wait_options: those of Once.wait, in a dict: timeout, min_interval, max_interval, lateness, settle.

    job_id, prompt and key are templates. Give it `retries`: a retry never sends the message twice. It fails without one where that doesn't
    help: the message may have arrived (resolve() the step), or was rejected for good. A rate limit defers it, and is no retry.
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
        if "headers" in (wait_options or {}):
            raise TypeError("wait_options can't have headers, because the trigger is stored: give them in the connection's extra")
        self.job_id, self.prompt, self.key, self.agentjob_conn_id = job_id, prompt, key, agentjob_conn_id
        self.wait, self.deferrable, self.check, self.wait_options = wait, deferrable, check, wait_options or {}

    def execute(self, context: Any, event: None = None) -> Any:
        """Sends the message, or continues with what is known of it."""
        try:
            once = AgentJobHook(self.agentjob_conn_id).get_conn()
            options = poller_options(once.client, self.wait_options)
            job = once.send_message(self.key, self.job_id, self.prompt)
            if not self.wait:
                return job
            if not self.deferrable:
                return once.wait(self.key, check=self.check, **self.wait_options)
            trigger = AgentJobTrigger(self.agentjob_conn_id, str(once.poller(self.key, **options)))
        except Error as error:
            self._fail(error)
        self.defer(trigger=trigger, method_name="execute_complete")

    def execute_complete(self, context: Any, event: Optional[str]) -> Job:
        """Records the result, when the trigger has seen it."""
        if event is not None:
            raise RuntimeError(event)
        try:
            return AgentJobHook(self.agentjob_conn_id).get_conn().wait(self.key, check=self.check, **self.wait_options)
        except Error as error:
            self._fail(error)

    def _fail(self, error: Error) -> NoReturn:
        try:
            pause, _ = pause_after(error, 0, MAX_FAILURES)
        except Error:
            raise AirflowFailException(str(error)) from error
        if isinstance(error, RateLimitError) and self.deferrable:
            self.defer(trigger=AgentJobTrigger(self.agentjob_conn_id, seconds=pause), method_name="execute")
        raise error
