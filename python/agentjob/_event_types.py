"""The types of events and metadata. Import them from `agentjob.types`."""

from typing import Dict, Literal, Optional, Union

from ._typed_dict import TypedDict


class OfBatch(TypedDict, total=False):
    """The additional key of the events of a batch's requests and polls."""

    item: int
    """The position in the list, from 1, of the message that the event is about."""


class AttemptEvent(OfBatch):
    """A request is about to be made."""

    event: Literal["attempt"]
    operation: Literal["send_message", "get_job", "create_job"]
    job_id: str
    """Empty for create_job."""
    attempt: int
    """1 for the first request of a call."""


class Timings(TypedDict, total=False):
    """Where the time of one request went, in seconds: its phases, one after the other. What is left was spent on reading the
    response. The phases that make a connection are absent if the request used a kept one."""

    resolve: float
    """The lookup of the host's name, or of the proxy's; absent if the URL has an address instead."""
    connect: float
    """The TCP connection, to the service or to the proxy."""
    proxy: float
    """The tunnel through the proxy."""
    tls: float
    """The TLS handshake; for the first connection of a client, reading the trusted roots, too."""
    first_byte: float
    """From when the connection was there until the first byte of the response."""


class ResponseEvent(OfBatch):
    """The service, or a gateway in front of it, responded to a request: with any status, also if its body was cut off."""

    event: Literal["response"]
    operation: Literal["send_message", "get_job", "create_job"]
    job_id: str
    attempt: int
    """The number of the request."""
    status: int
    """The HTTP status."""
    request_id: Optional[str]
    """The service's or a gateway's id of the request."""
    bytes: int
    """How many bytes of the body were read."""
    elapsed: float
    """Seconds from the beginning of this request, the connection included, until the response had been read."""
    timings: Timings
    """Where that time went."""


class ResponseMeta(TypedDict):
    """The metadata of a success: what a method's meta is called with."""

    operation: Literal["send_message", "get_job", "create_job"]
    job_id: str
    """The job; for create_job the new one."""
    status: int
    """The HTTP status, 200 to 299."""
    headers: Dict[str, str]
    """The response's header fields, names in lower case, repeated ones joined by ", ". The client's key and the values of fields whose
    names say that they are secret, such as set-cookie, are replaced by "***"."""
    headers_cut: bool
    """Whether the response had more than the 100 fields, or a value longer than the 2,048 characters, that are kept."""
    request_id: Optional[str]
    """The service's or a gateway's id of the request."""
    bytes: int
    """How many bytes the record had."""
    attempts: int
    """How many requests the call made; each poll of a wait is a call of its own."""
    elapsed: float
    """Seconds that the call took until the response had been read, retries and pauses included."""
    timings: Timings
    """Where the time of the last request went."""


class RetryEvent(OfBatch):
    """A request failed and is retried."""

    event: Literal["retry"]
    operation: Literal["send_message", "get_job", "create_job"]
    job_id: str
    attempt: int
    """The number of the request that failed."""
    delay: float
    """Seconds until the next one."""
    reason: str


class PollEvent(OfBatch):
    """A wait polled its job."""

    event: Literal["poll"]
    job_id: str
    polls: int
    """How many polls the wait has made."""
    status: Optional[str]
    """The job's status, when it could be read."""
    reason: Optional[str]
    """Why it could not be read."""
    consecutive_failures: int
    """How many polls in a row, up to this one, failed alike: with the same kind of error and HTTP status. 0 if it succeeded."""
    elapsed: float
    """Seconds since the wait began."""
    next: Optional[float]
    """Seconds until the next poll; None when the wait has ended."""


class PausedEvent(TypedDict):
    """A batch sends no message for a while."""

    event: Literal["paused"]
    reason: Literal["rate_limit", "service_failure"]
    pause: float
    """For how many seconds."""
    error: str
    """The reason of the failure that caused it, or that it began in an earlier run."""


class ResumedEvent(TypedDict):
    """A batch sends messages again after a pause."""

    event: Literal["resumed"]


Event = Union[AttemptEvent, ResponseEvent, RetryEvent, PollEvent, PausedEvent, ResumedEvent]
"""What on_event is called with."""
