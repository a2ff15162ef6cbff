"""Send a follow-up message to an agent job, and follow the job until it is done.

    import agentjob

    client = agentjob.Client()      # base URL, key and project from the AGENTJOB_ variables, or as arguments
    job = client.send_and_wait("job_123", "Also cover the error cases")
    print(job["status"], job["prLink"])

The client never sends a message twice. Every error has a `delivery` verdict: whether the message arrived.
"""

from . import errors

try:
    from ._native import (
        Batch,
        CancelToken,
        Client,
        Poller,
        Watch,
        __version__,
        batch_drop,
        batch_export,
        batch_report,
        batch_resolve,
        batch_retry,
        batch_status,
        read_batch_list,
        write_batch_report,
    )
except ImportError as _error:
    from ._unimportable import explained

    raise explained(_error, __file__) from _error
from .errors import (
    BadRequestError,
    CancelledError,
    ClosedError,
    ConflictError,
    ConnectError,
    ConnectionLostError,
    Error,
    PermissionDeniedError,
    InternalError,
    InvalidArgumentError,
    InvalidResponseError,
    JobFailedError,
    JournalError,
    NotFoundError,
    RateLimitError,
    RedirectError,
    RequestTimeoutError,
    ServerError,
    StatusError,
    StepInFlightError,
    StoreError,
    TlsError,
    AuthenticationError,
    WaitTimeoutError,
)

__all__ = [
    "BadRequestError",
    "Batch",
    "CancelToken",
    "CancelledError",
    "Client",
    "ClosedError",
    "ConflictError",
    "ConnectError",
    "ConnectionLostError",
    "Error",
    "PermissionDeniedError",
    "InternalError",
    "InvalidArgumentError",
    "InvalidResponseError",
    "JobFailedError",
    "JournalError",
    "NotFoundError",
    "Poller",
    "RateLimitError",
    "RedirectError",
    "RequestTimeoutError",
    "ServerError",
    "StatusError",
    "StepInFlightError",
    "StoreError",
    "TlsError",
    "AuthenticationError",
    "WaitTimeoutError",
    "Watch",
    "__version__",
    "batch_drop",
    "batch_export",
    "batch_report",
    "batch_resolve",
    "batch_retry",
    "batch_status",
    "read_batch_list",
    "write_batch_report",
    "errors",
]


TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import aio as aio
    from . import once as once
    from . import testing as testing
    from . import types as types
else:

    def __getattr__(name):
        # Modules that most programs do not need, and that load what makes an import slow (`typing`, `asyncio`).
        if name in ("aio", "once", "testing", "types"):
            import importlib

            return importlib.import_module("." + name, __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__():
        return [*__all__, "aio", "once", "testing", "types"]
