"""The exit statuses: one table, for the commands and for their help."""

DONE, JOB_FAILED, USAGE, FAILED, WAIT_TIMED_OUT, DELIVERY_UNKNOWN, LEFT, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
BY_SIGNALS = "interrupted by Ctrl-C (143 by SIGTERM, 129 by SIGHUP)"

#: What each status means: for one message, for a batch, for batch status, for a decision, for batch export, and for
#: batch report. In a batch the first that applies counts.
TABLE = (
    (
        INTERRUPTED,
        BY_SIGNALS,
        f"{BY_SIGNALS}; the batch can be resumed",
        BY_SIGNALS,
        BY_SIGNALS,
        BY_SIGNALS,
        BY_SIGNALS,
    ),
    (
        USAGE,
        "usage: a wrong flag, argument or setting; nothing was sent",
        "usage: a wrong flag, setting or line of the file; nothing was sent",
        "usage: a wrong flag or argument",
        "usage: a wrong flag, or an item about which that cannot be decided; nothing was written",
        "usage: a wrong flag or argument",
        "usage: a wrong flag, or the file exists or cannot be written",
    ),
    (
        DELIVERY_UNKNOWN,
        "the message may have arrived, or it did and its record could not be written: check the job before you send it again",
        "a message may have arrived: check its job before you send it again",
        "no run is active, and a message may have arrived: check its job, then decide with batch resolve",
        None,
        None,
        None,
    ),
    (
        LEFT,
        None,
        "an error ended the run: fix what it says, and the same command resumes the batch",
        "no run is active, and messages are left to send: run the batch again to resume it",
        None,
        None,
        None,
    ),
    (
        FAILED,
        "the request was rejected or failed",
        "a message was rejected, or the end of a job could not be read",
        "no run is active, and a message was rejected; or the journal cannot be read, or the status cannot be written",
        "the journal cannot be read or written, a run is using it, a job cannot be read (--check), or stdout cannot be written",
        "the journal cannot be read, or the export cannot be written",
        "the journal cannot be read, or stdout cannot be written (-o -)",
    ),
    (WAIT_TIMED_OUT, "the wait timed out; the job is still running", "a wait timed out; the job is still running", None, None, None, None),
    (
        JOB_FAILED,
        "the job failed (only when waiting)",
        "a job failed (only when waiting)",
        "no run is active, and a job failed that was waited for",
        None,
        None,
        None,
    ),
    (DONE, "done", "done", "the journal was read, and nothing above applies", "decided, or checked", "done", "done"),
)
#: The columns of a batch's commands.
COLUMNS = {
    "batch": 2,
    "batch run": 2,
    "batch status": 3,
    "batch resolve": 4,
    "batch retry": 4,
    "batch drop": 4,
    "batch export": 5,
    "batch report": 6,
}
#: The statuses of one message, for a help that must fit a screen.
SHORT = """\
exit status: 0 done, 1 the job failed, 2 wrong usage, 3 rejected or failed,
  4 the wait timed out, 5 the message may have arrived, 130 interrupted
  (143 by SIGTERM, 129 by SIGHUP)
"""
#: By the error's kind, where that decides.
KINDS = {"invalid_argument": USAGE, "wait_timeout": WAIT_TIMED_OUT}


def of_signal(number):
    """The exit status of a command that a signal ended, as a shell shows it."""
    return 128 + number


def of_error(error, command=None):
    """The exit status of a command that an error ended."""
    number = getattr(error, "signal", None)
    if number is not None:
        return of_signal(number)
    status = KINDS.get(error.kind, DELIVERY_UNKNOWN if error.delivery == "unknown" else FAILED)
    # An id of a new job that cannot be waited for: its user gave nothing wrong, and something was sent.
    status = FAILED if status == USAGE and error.delivery == "accepted" else status
    return LEFT if status == FAILED and command == "batch run" else status


def help_for(command):
    """The section of a command's help."""
    column = COLUMNS.get(command, 1)
    rows = [(row[0], row[column]) for row in TABLE if row[column]]
    title = "exit status, the first that applies:"
    if column not in (2, 3):
        rows.sort()
        title = "exit status:"
    more = "  a batch has 6, too: agentjob batch run --help\n" if column == 1 else ""
    return "".join([f"{title}\n", *(f"  {status} {meaning}\n" for status, meaning in rows), more])
