"""Every error that a call can raise, all under `Error`.

Their text is one sentence: what failed, for which job, what to do. The facts are attributes, so errors pickle and copy with
everything they carry.
"""

TYPE_CHECKING = False  # typing's own, without the time that importing typing takes
if TYPE_CHECKING:
    from typing import Optional

    from .types import Delivery, Job

__all__ = [
    "Error",
    "InvalidArgumentError",
    "ConnectError",
    "TlsError",
    "ConnectionLostError",
    "RequestTimeoutError",
    "CancelledError",
    "ClosedError",
    "StatusError",
    "AuthenticationError",
    "PermissionDeniedError",
    "NotFoundError",
    "ConflictError",
    "RateLimitError",
    "BadRequestError",
    "ServerError",
    "RedirectError",
    "InvalidResponseError",
    "WaitTimeoutError",
    "JobFailedError",
    "InternalError",
    "JournalError",
]


class Error(Exception):
    """The base of all of them."""

    # Plain attributes over class defaults, and no __init__: that is what makes pickle and copy keep them without help.
    kind: str = "internal"
    """The kind's name, the same in every language; each class has its own."""
    delivery: "Optional[Delivery]" = None
    """What became of the message: not_sent, rejected, unknown or accepted. None if the call was not to deliver one."""
    http_status: "Optional[int]" = None
    """The status of the answer, when one was read."""
    retry_after: "Optional[float]" = None
    """For how many seconds the service asked to wait."""
    request_id: "Optional[str]" = None
    """The service's id of the request, to quote to its operators."""
    body: "Optional[str]" = None
    """The text of the answer's body, at most 8 KiB of it: the service's text, unchecked."""
    attempts: int = 0
    """How many requests the call made."""
    elapsed: float = 0.0
    """How many seconds the call took."""
    job: "Optional[Job]" = None
    """The last record that a wait saw."""

    @property
    def message(self) -> str:
        """The same sentence as str(error)."""
        return str(self)


class InvalidArgumentError(Error, ValueError):
    """An argument or a setting is wrong or missing. Nothing was sent."""

    kind = "invalid_argument"


class ConnectError(Error, ConnectionError):
    """No connection: name lookup, TCP, or a proxy that said no."""

    kind = "connect"


class TlsError(ConnectError):
    """The TLS handshake failed: an unknown authority, a wrong name, an expired certificate."""

    kind = "tls"


class ConnectionLostError(Error, ConnectionError):
    """The connection ended before the answer did."""

    kind = "connection_lost"


class RequestTimeoutError(Error, TimeoutError):
    """The call's total time was over (`timeout`, or `connect_timeout` while connecting)."""

    kind = "timeout"


class CancelledError(Error):
    """The call's cancel token ended it."""

    kind = "cancelled"


class ClosedError(Error):
    """The client was closed."""

    kind = "closed"


class StatusError(Error):
    """The service answered with a status that is no success; `http_status` is it."""

    kind = "bad_request"


class AuthenticationError(StatusError):
    """401: the key is wrong or expired."""

    kind = "authentication"


class PermissionDeniedError(StatusError):
    """403: the key may not do this, or not from this address."""

    kind = "permission_denied"


class NotFoundError(StatusError):
    """404: no such job or project."""

    kind = "not_found"


class ConflictError(StatusError):
    """409: the job cannot take the request now."""

    kind = "conflict"


class RateLimitError(StatusError):
    """429: the project's hourly allowance is used up; `retry_after` says for how long, if the service did."""

    kind = "rate_limit"


class BadRequestError(StatusError):
    """400 or another 4xx: the service refused the request."""

    kind = "bad_request"


class ServerError(StatusError):
    """5xx: the service or a gateway before it failed."""

    kind = "server"


class RedirectError(StatusError):
    """3xx: none is ever followed, so that the key goes nowhere else."""

    kind = "redirect"


class InvalidResponseError(Error):
    """An answer that is not the contract's: no HTTP, no JSON, no record, or too large."""

    kind = "invalid_response"


class WaitTimeoutError(Error, TimeoutError):
    """A wait's time was over and the job was not done; `job` is its last record."""

    kind = "wait_timeout"


class JobFailedError(Error):
    """With check=True: the job ended as failed; `job` is its record."""

    kind = "job_failed"


class InternalError(Error):
    """A bug of agentjob, caught."""


class JournalError(Error):
    """A batch's journal cannot be opened, read or written, is damaged, or another run has it."""

    kind = "journal"
