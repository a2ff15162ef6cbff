"""The records of a job as they change, for agentjob.aio."""

from __future__ import annotations

from types import TracebackType
from typing import AsyncGenerator, Optional

from ..types import Job


class AsyncWatch:
    """The records of a job as they change; see AsyncClient.watch. Leaving its `async with` statement ends it.

    Iterate over it once. `contextlib.aclosing` takes it, too.
    """

    def __init__(self, records: AsyncGenerator[Job, None]) -> None:
        self._records = records

    def __aiter__(self) -> AsyncWatch:
        return self

    async def __anext__(self) -> Job:
        return await self._records.__anext__()

    async def aclose(self) -> None:
        """Ends the watch: it returns no more records. A second call does nothing."""
        await self._records.aclose()

    async def __aenter__(self) -> AsyncWatch:
        return self

    async def __aexit__(
        self, exc_type: Optional[type[BaseException]], exc: Optional[BaseException], traceback: Optional[TracebackType], /
    ) -> None:
        await self.aclose()
