"""agentjob from Python through ctypes, as an example: for real programs there is the Python package.

    with Client(base_url="https://api.example.com", api_key="…", project_id="…") as client:
        job = client.send_and_wait("job_123", "Also cover the error cases", timeout=1800)
        print(job.status, job.pr_link)

Options as in the README, times in seconds. An option that is not set comes from its AGENTJOB_ variable or has its default.
"""

import ctypes
import os
import time
from contextlib import contextmanager
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import NamedTuple, Optional

# ctypes releases the GIL during a call of a CDLL (not of a PyDLL), so other threads keep running.
_library = ctypes.CDLL(os.environ.get("AGENTJOB_LIBRARY", "libagentjob.so.0"))
_OUT = POINTER(c_void_p)  # memory for an object or an error
_FOREVER = 2**64 - 1


def _function(name, *arguments, returns=c_int32):
    """A function of the library. Without declared types ctypes would truncate pointers to int."""
    function = getattr(_library, "agentjob_" + name)
    function.argtypes, function.restype = arguments, returns
    return function


_client_new = _function("client_new", c_void_p, _OUT, _OUT)
_client_close = _function("client_close", c_void_p, returns=None)
_client_free = _function("client_free", c_void_p, returns=None)
_send_message = _function("client_send_message", c_void_p, c_char_p, c_char_p, c_size_t, c_void_p, _OUT, _OUT)
_get_job = _function("client_get_job", c_void_p, c_char_p, c_void_p, _OUT, _OUT)
_create_job = _function("client_create_job", c_void_p, c_char_p, c_size_t, c_void_p, _OUT, _OUT)
_wait = _function("client_wait", c_void_p, c_char_p, c_void_p, _OUT, _OUT)
_send_and_wait = _function("client_send_and_wait", c_void_p, c_char_p, c_char_p, c_size_t, c_void_p, _OUT, _OUT)
_options_new = _function("options_new", returns=c_void_p)
_options_free = _function("options_free", c_void_p, returns=None)
_call_new = _function("call_new", returns=c_void_p)
_call_free = _function("call_free", c_void_p, returns=None)
_call_set_cancel = _function("call_set_cancel", c_void_p, c_void_p, _OUT)
_call_set_poll_interval = _function("call_set_poll_interval_ms", c_void_p, c_uint64, c_uint64, _OUT)
_call_set_header = _function("call_set_header", c_void_p, c_char_p, c_char_p, _OUT)
_options_set_poll_interval = _function("options_set_poll_interval_ms", c_void_p, c_uint64, c_uint64, _OUT)
_options_set_header = _function("options_set_header", c_void_p, c_char_p, c_char_p, _OUT)
_cancel_new = _function("cancel_new", returns=c_void_p)
_cancel_trigger = _function("cancel_trigger", c_void_p, returns=None)
_cancel_is_triggered = _function("cancel_is_triggered", c_void_p, returns=c_bool)
_cancel_free = _function("cancel_free", c_void_p, returns=None)
_poller_new = _function("poller_new", c_void_p, c_char_p, c_void_p, _OUT, _OUT)
_poller_due_in_ms = _function("poller_due_in_ms", c_void_p, returns=c_uint64)
_poller_poll = _function("poller_poll", c_void_p, c_void_p, c_void_p, POINTER(c_bool), _OUT)
_poller_job = _function("poller_job", c_void_p, returns=c_void_p)
_poller_free = _function("poller_free", c_void_p, returns=None)
_job_id = _function("job_id", c_void_p, returns=c_char_p)
_job_status_name = _function("job_status_name", c_void_p, returns=c_char_p)
_job_pr_link = _function("job_pr_link", c_void_p, returns=c_char_p)
_job_is_terminal = _function("job_is_terminal", c_void_p, returns=c_bool)
_job_json = _function("job_json", c_void_p, c_void_p, returns=c_char_p)
_job_free = _function("job_free", c_void_p, returns=None)
_error_kind = _function("error_kind", c_void_p, returns=c_char_p)
_error_message = _function("error_message", c_void_p, returns=c_char_p)
_error_delivery = _function("error_delivery", c_void_p)
_error_http_status = _function("error_http_status", c_void_p)
_error_retry_after_ms = _function("error_retry_after_ms", c_void_p, returns=c_int64)
_error_request_id = _function("error_request_id", c_void_p, returns=c_char_p)
_error_body = _function("error_body", c_void_p, POINTER(c_size_t), returns=c_void_p)
_error_attempts = _function("error_attempts", c_void_p, returns=c_uint32)
_error_elapsed_ms = _function("error_elapsed_ms", c_void_p, returns=c_uint64)
_error_job = _function("error_job", c_void_p, returns=c_void_p)
_error_free = _function("error_free", c_void_p, returns=None)
_delivery_name = _function("delivery_name", c_int32, returns=c_char_p)


def _bytes(text):
    """A text for the library. A NUL byte is refused, because C would read only the part before it, which may be another job's id."""
    data = text.encode()
    if b"\0" in data:
        raise ValueError("a NUL in a text that is no prompt")
    return data


def _text(data):
    return None if data is None else data.decode()


def _milliseconds(seconds):
    if seconds is None:  # a wait without a deadline
        return _FOREVER
    return max(1, round(seconds * 1000)) if seconds > 0 else 0  # a short time does not become 0


def _setters(type_name, **settings):
    """For each setting: its function and the conversion of its value to the function's argument."""
    kinds = {
        "text": ("", c_char_p, _bytes),
        "time": ("_ms", c_uint64, _milliseconds),
        "uint32": ("", c_uint32, int),
        "size": ("", c_size_t, int),
        "flag": ("", c_bool, bool),
        "part": ("", c_double, float),
    }
    found = {}
    for name, kind in settings.items():
        ending, argument, convert = kinds[kind]
        found[name] = _function(f"{type_name}_set_{name}{ending}", c_void_p, argument, _OUT), convert
    return found


_OPTIONS = _setters(
    "options", base_url="text", api_key="text", api_key_file="text", project_id="text", ca_file="text", client_cert="text",
    client_key="text", proxy="text", user_agent_suffix="text", timeout="time", connect_timeout="time", max_retry_after="time",
    wait_timeout="time", lateness="part", settle="time", max_retries="uint32", max_prompt_bytes="size", max_response_bytes="size",
    trust_env="flag", allow_plaintext="flag",
)  # fmt: skip
_CALL = _setters("call", timeout="time", wait_timeout="time", lateness="part", settle="time")


def _check(function, *arguments):
    """Calls a function whose last parameter is the error; raises the error."""
    err = c_void_p()
    if function(*arguments, byref(err)) != 0:
        with _owned(err, _error_free):
            raise Error(err)


def _made(function, *arguments):
    """Calls a function that returns an object through `out`."""
    out = c_void_p()
    _check(function, *arguments, byref(out))
    return out


@contextmanager
def _owned(handle, free):
    """An object that is freed after its block."""
    try:
        yield handle
    finally:
        free(handle)


class Error(Exception):
    """Why a call failed. Everything is copied, so the library's error is freed at once."""

    def __init__(self, err):
        delivery = _error_delivery(err)
        retry_after_ms = _error_retry_after_ms(err)
        length = c_size_t()
        body = _error_body(err, byref(length))
        job = _error_job(err)
        super().__init__(_text(_error_message(err)))
        self.kind = _text(_error_kind(err))
        self.delivery = _text(_delivery_name(delivery)) if delivery else None  # "unknown": check the job before you send it again
        self.http_status = _error_http_status(err) or None
        self.retry_after = retry_after_ms / 1000 if retry_after_ms >= 0 else None
        self.request_id = _text(_error_request_id(err))
        self.body = ctypes.string_at(body, length.value).decode() if body else None  # it may contain a NUL
        self.attempts = _error_attempts(err)
        self.elapsed = _error_elapsed_ms(err) / 1000
        self.job = Job.copied(job) if job else None


class Job(NamedTuple):
    """A job's record at one moment."""

    id: str
    status: str
    is_terminal: bool
    pr_link: Optional[str]
    json: str  # the whole record

    @classmethod
    def copied(cls, job):
        return cls(_text(_job_id(job)), _text(_job_status_name(job)), _job_is_terminal(job), _text(_job_pr_link(job)),
                   _text(_job_json(job, None)))  # fmt: skip

    @classmethod
    def taken(cls, job):
        with _owned(job, _job_free):
            return cls.copied(job)


class CancelToken:
    """Cancels the calls that have it, from any thread: they raise an Error of kind "cancelled"."""

    def __init__(self):
        self._handle = _cancel_new()

    def __del__(self):
        _cancel_free(self._handle)

    def cancel(self):
        _cancel_trigger(self._handle)

    @property
    def cancelled(self):
        return _cancel_is_triggered(self._handle)


class Client:
    """A client of one project. Any number of threads may use it."""

    _handle = None

    def __init__(self, **settings):
        with _owned(_options_new(), _options_free) as options:
            _set(options, _OPTIONS, _options_set_poll_interval, _options_set_header, **settings)
            self._handle = _made(_client_new, options)

    def __del__(self):  # no thread can be in a call now, because the call would hold a reference
        _client_free(self._handle)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def close(self):
        """Ends every call on every thread and refuses new ones."""
        _client_close(self._handle)

    def send_message(self, job_id, prompt, *, cancel=None, **settings):
        with _call(cancel, **settings) as call:
            prompt = prompt.encode()
            return Job.taken(_made(_send_message, self._handle, _bytes(job_id), prompt, len(prompt), call))

    def get_job(self, job_id, *, cancel=None, **settings):
        with _call(cancel, **settings) as call:
            return Job.taken(_made(_get_job, self._handle, _bytes(job_id), call))

    def create_job(self, prompt, *, cancel=None, **settings):
        with _call(cancel, **settings) as call:
            prompt = prompt.encode()
            return Job.taken(_made(_create_job, self._handle, prompt, len(prompt), call))

    def wait(self, job_id, *, cancel=None, **wait):
        with _call(cancel, **_waiting(wait)) as call:
            return Job.taken(_made(_wait, self._handle, _bytes(job_id), call))

    def send_and_wait(self, job_id, prompt, *, cancel=None, **wait):
        with _call(cancel, **_waiting(wait)) as call:
            prompt = prompt.encode()
            return Job.taken(_made(_send_and_wait, self._handle, _bytes(job_id), prompt, len(prompt), call))

    def watch(self, job_id, *, cancel=None, **wait):
        """Yields the first record, each one that differs from the previous one, and the last one."""
        done, last = c_bool(), None
        with _call(cancel, **_waiting(wait)) as call:
            with _owned(_made(_poller_new, self._handle, _bytes(job_id), call), _poller_free) as poller:
                while not done:
                    while (due := _poller_due_in_ms(poller)) and not (cancel and cancel.cancelled):
                        time.sleep(min(due, 20) / 1000)  # briefly, to notice a cancel soon
                    _check(_poller_poll, poller, self._handle, call, byref(done))
                    job = _poller_job(poller)  # borrowed from the poller until its next poll
                    if job and (done or last is None or _text(_job_json(job, None)) != last.json):
                        last = Job.copied(job)
                        yield last


def _set(object, setters, set_poll_interval, set_header, *, min_interval=None, max_interval=None, headers=None, **settings):
    """Sets the settings of a client or of a call."""
    if min_interval is not None or max_interval is not None:  # one function sets both; 2 s and 60 s are the defaults
        low, high = 2 if min_interval is None else min_interval, 60 if max_interval is None else max_interval
        _check(set_poll_interval, object, _milliseconds(low), _milliseconds(high))
    for name, value in (headers or {}).items():
        _check(set_header, object, _bytes(name), _bytes(value))
    for name, value in settings.items():
        setter, convert = setters[name]
        _check(setter, object, convert(value))


def _waiting(settings):
    """For a wait, `timeout` is the deadline of the wait, None for none; its requests keep the client's timeout."""
    return {"wait_timeout" if name == "timeout" else name: value for name, value in settings.items()}


@contextmanager
def _call(cancel, **settings):
    """The settings of one call."""
    with _owned(_call_new(), _call_free) as call:
        if cancel is not None:
            _check(_call_set_cancel, call, cancel._handle)
        _set(call, _CALL, _call_set_poll_interval, _call_set_header, **settings)
        yield call
