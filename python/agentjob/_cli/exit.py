"""The exit statuses: one table, for the commands and for their help."""

DONE, JOB_FAILED, USAGE, FAILED, WAIT_TIMED_OUT, DELIVERY_UNKNOWN, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

#: What each status means: for one message, for a batch, and for batch-status. In a batch the first that applies counts.
TABLE = (
    (
        INTERRUPTED,
        "interrupted",
        "interrupted (143 by SIGTERM, 129 by SIGHUP); the batch can be resumed",
        "interrupted",
    ),
    (
        USAGE,
        "usage: a wrong flag, argument or setting; nothing was sent",
        "usage: a wrong flag, setting or line of the file; nothing was sent",
        "usage: a wrong flag or argument",
    ),
    (
        DELIVERY_UNKNOWN,
        "the message may have arrived: check the job before you send it again",
        "a message may have arrived: check its job before you send it again",
        "no run is active, and a message may have arrived: check its job before you send it again",
    ),
    (
        FAILED,
        "the request was rejected or failed",
        "a message was rejected, or an error stopped the batch; the batch can be resumed",
        "the journal cannot be read, or the status cannot be written",
    ),
    (WAIT_TIMED_OUT, "the wait timed out; the job is still running", "a wait timed out; the job is still running", None),
    (JOB_FAILED, "the job failed (only when waiting)", "a job failed (only when waiting)", None),
    (DONE, "done", "done", "the journal was read"),
)
#: By the error's kind, where that decides.
KINDS = {"interrupted": INTERRUPTED, "invalid_argument": USAGE, "wait_timeout": WAIT_TIMED_OUT}


def of_error(error):
    """The exit status of a command that an error ended."""
    return KINDS.get(error.kind, DELIVERY_UNKNOWN if error.delivery == "unknown" else FAILED)


def help_for(command):
    """The section of a command's help."""
    column = {"send-all": 2, "batch-status": 3}.get(command, 1)
    rows = [(row[0], row[column]) for row in TABLE if row[column]]
    title = "exit status, the first that applies:"
    if command != "send-all":
        rows.sort()
        title = "exit status:"
    return "".join([f"{title}\n", *(f"  {status} {meaning}\n" for status, meaning in rows)])
