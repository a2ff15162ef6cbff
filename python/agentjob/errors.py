"""Every error that a call can raise, all under `Error`.

An error's text is a message in one or more sentences. Its facts are attributes; pickling and copying keep them, and `to_dict()` returns them for JSON.
"""

TYPE_CHECKING = False  # typing's own, without the time that importing typing takes
if TYPE_CHECKING:
    import typing

    from . import types
else:

    class _Lazy:
        """A module that annotations name. It is loaded when a program reads them, as typing.get_type_hints does."""

        def __init__(self, name):
            self._name = name

        def __getattr__(self, attribute):
            import importlib

            return getattr(importlib.import_module(self._name), attribute)

    typing, types = _Lazy("typing"), _Lazy("agentjob.types")

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
    "StepInFlightError",
    "StoreError",
]


class Error(Exception):
    """The base of all of them."""

    # Plain attributes over class defaults: pickle and copy keep them without help.
    kind: str = "internal"
    """The kind's name, the same in every language; each class has its own."""
    hint: "typing.Optional[str]" = None
    """What to do about the cause, as a sentence; None if nothing is known to help. What to do with the message follows from
    `delivery`, and is not in it."""
    delivery: "typing.Optional[types.Delivery]" = None
    """What happened to the message: not_sent, rejected, unknown or accepted. None if the call was not to deliver one."""
    http_status: "typing.Optional[int]" = None
    """The status of the service's response, if one was read. The status of a proxy that refused is in `reason`."""
    retry_after: "typing.Optional[float]" = None
    """How many seconds the service, or a proxy that refused, asked to wait."""
    request_id: "typing.Optional[str]" = None
    """The service's id of the request, to quote to its operators."""
    body: "typing.Optional[str]" = None
    """The text of the response's body, at most 8 KiB of it: the text of the service, or of a proxy that refused, unchecked."""
    attempts: int = 0
    """How many requests the call made."""
    elapsed: float = 0.0
    """How many seconds the call took."""
    job: "typing.Optional[types.Job]" = None
    """The last record that a wait read; None if that may be the job's previous result. Or the record of the job that was created, if the
    call was ended when its response was there."""
    item: "typing.Optional[int]" = None
    """The number, from 1, of the batch's item that the error is about."""
    line: "typing.Optional[int]" = None
    """The `line` of the batch's item that the error is about, if it has one."""

    def __init__(self, message: str = "", facts: "typing.Optional[dict[str, typing.Any]]" = None) -> None:
        """message: the text. facts: the attributes, as `to_dict()` returns them; None leaves the defaults."""
        super().__init__(message)
        if facts is None:
            return
        if isinstance(facts, dict):
            for name in _FACTS & facts.keys():
                setattr(self, name, facts[name])
        if not isinstance(facts, dict) or facts.get("delivery", "") not in _VERDICTS:
            # A serializer made something else of the facts. Without a verdict the message may have arrived.
            self.delivery = "unknown"

    @property
    def message(self) -> str:
        """The whole text, the same as str(error)."""
        # Not str(self): a subclass may have its own __str__, which may read `args`.
        return BaseException.__str__(self)

    @property
    def reason(self) -> str:
        """What happened, without the job, the verdict and the advice: "no connection to 127.0.0.1:9 (connection refused)"."""
        return self.__dict__.get("reason") or self.message

    @reason.setter
    def reason(self, reason: str) -> None:
        self.__dict__["reason"] = reason

    @property
    def args(self) -> "tuple[typing.Any, ...]":
        """The text and the facts: what serializers that rebuild an exception as `cls(*args)` need to keep its verdict."""
        return (self.message, self.to_dict())

    @args.setter
    def args(self, args: "tuple[typing.Any, ...]") -> None:
        BaseException.args.__set__(self, tuple(args)[:1])  # type: ignore[attr-defined]

    @property
    def cause(self) -> "typing.Optional[BaseException]":
        """Set by Ray, which raises a task's error again: the error as the task raised it."""
        return self.__dict__.get("cause")

    @cause.setter
    def cause(self, cause: "typing.Optional[BaseException]") -> None:
        # Ray makes a subclass of the cause's class, without calling its __init__: without its facts it would say that nothing was sent.
        self.__dict__["cause"] = cause
        if isinstance(cause, Error):
            BaseException.args.__set__(self, (cause.message,))  # type: ignore[attr-defined]
            self.__dict__.update({name: getattr(cause, name) for name in _FACTS})

    def to_dict(self) -> "types.ErrorDict":
        """The error as a dict for JSON: kind, message, reason, hint, delivery, http_status, retry_after, request_id, body,
        attempts, elapsed, job, item and line. A number of the job beyond a float, which Python reads as infinity and JSON doesn't have,
        is the largest float."""
        return {
            "kind": self.kind,
            "message": self.message,
            "reason": self.reason,
            "hint": self.hint,
            "delivery": self.delivery,
            "http_status": self.http_status,
            "retry_after": self.retry_after,
            "request_id": self.request_id,
            "body": self.body,
            "attempts": self.attempts,
            "elapsed": self.elapsed,
            "job": _strict(self.job),
            "item": self.item,
            "line": self.line,
        }


_LARGEST = 1.7976931348623157e308


def _strict(value: "typing.Any") -> "typing.Any":
    """A record that is valid JSON, whose numbers are finite."""
    if isinstance(value, dict):
        return {key: _strict(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_strict(member) for member in value]
    return max(-_LARGEST, min(value, _LARGEST)) if isinstance(value, float) else value


#: What `delivery` may be.
_VERDICTS = (None, "not_sent", "rejected", "unknown", "accepted")

#: The attributes that an error is rebuilt with.
_FACTS = Error().to_dict().keys() - {"kind", "message"}


class InvalidArgumentError(Error, ValueError):
    """An argument or a setting is wrong or missing. Nothing was sent."""

    kind = "invalid_argument"


class ConnectError(Error, ConnectionError):
    """No connection: name lookup, TCP, or a proxy that refused."""

    kind = "connect"


class TlsError(ConnectError):
    """The TLS handshake failed: an unknown authority, a wrong name, an expired certificate."""

    kind = "tls"


class ConnectionLostError(Error, ConnectionError):
    """The connection ended before the response did."""

    kind = "connection_lost"


class RequestTimeoutError(Error, TimeoutError):
    """The call exceeded its total time (`timeout`, or `connect_timeout` while connecting)."""

    kind = "timeout"


class CancelledError(Error):
    """The call's cancel token ended it."""

    kind = "cancelled"


class ClosedError(Error):
    """The client was closed."""

    kind = "closed"


class StatusError(Error):
    """The service responded with a status other than success, in `http_status`."""

    kind = "bad_request"


class AuthenticationError(StatusError):
    """401: the key is wrong or expired."""

    kind = "authentication"


class PermissionDeniedError(StatusError):
    """403: the key lacks permission, or this IP address is not allowed."""

    kind = "permission_denied"


class NotFoundError(StatusError):
    """404: no such job or project."""

    kind = "not_found"


class ConflictError(StatusError):
    """409: the job cannot take the request now."""

    kind = "conflict"


class RateLimitError(StatusError):
    """429: the project's hourly limit is used up. `retry_after` says for how many seconds, if the service did."""

    kind = "rate_limit"


class BadRequestError(StatusError):
    """400 or another 4xx: the service refused the request."""

    kind = "bad_request"


class ServerError(StatusError):
    """5xx: the service, or a gateway in front of it, failed."""

    kind = "server"


class RedirectError(StatusError):
    """3xx: redirects are never followed, so that the key goes to no other server."""

    kind = "redirect"


class InvalidResponseError(Error):
    """A response that the service does not document: not HTTP, not JSON, not a record, or too large."""

    kind = "invalid_response"


class WaitTimeoutError(Error, TimeoutError):
    """A wait timed out before the job was done; `job` is its last record, or None if that may be its previous result."""

    kind = "wait_timeout"


class JobFailedError(Error):
    """With check=True: the job ended as failed; `job` is its record."""

    kind = "job_failed"


class InternalError(Error):
    """A bug in agentjob."""

    kind = "internal"


class JournalError(Error):
    """A batch's journal cannot be opened, read or written, is damaged, or is in use by another run."""

    kind = "journal"


class StepInFlightError(RequestTimeoutError):
    """Another worker is sending the message of the step. Call again with the same key for the outcome."""

    kind = "step_in_flight"


class StoreError(Error):
    """The store of `agentjob.once` cannot be opened, read or written; the database's own exception is its cause."""

    kind = "store"


def invalid_argument(reason: str, hint: str, delivery: "typing.Optional[types.Delivery]" = None) -> InvalidArgumentError:
    """The error of an argument that Python code checks. delivery: `not_sent`, if the call was to send a message."""
    return InvalidArgumentError(f"{reason}. {hint}", {"reason": reason, "hint": hint, "delivery": delivery})


def wrong_store(message: str) -> StoreError:
    """The error of a store that has to be another one, so that trying again can't help."""
    error = StoreError(message)
    error.__dict__["_is_a_setting"] = True
    return error


def _by_kind() -> "dict[str, type[Error]]":
    """The class of each kind. StatusError has no kind of its own: it is the base of the classes for a status."""
    classes = [globals()[name] for name in __all__]
    return {cls.kind: cls for cls in classes if cls not in (Error, StatusError)}


#: For the native module, which raises them.
BY_KIND = _by_kind()
