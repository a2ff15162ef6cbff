"""`agentjob batch report`: a page of HTML about a batch, from its journal."""

from ... import errors
from ..._native import batch_report, write_batch_report
from .. import exit
from ..output import OutputError, emit, utf8
from ..terminal import printable


def main(options, report):
    path = options.output or f"{options.run}.html"
    if path == "-":
        with utf8():
            broken = emit(batch_report(options.run))
        # A page that was cut is none.
        if broken is not None:
            raise OutputError(f"the report could not be written: {broken}")
        return exit.DONE
    try:
        write_batch_report(options.run, path, replace=options.force)
    except errors.InvalidArgumentError as error:
        if "exists already" not in error.reason:
            raise
        raise errors.InvalidArgumentError(f"{error.reason}; --force replaces it", error.to_dict()) from None
    report.say(f"wrote {printable(path)}")
    return exit.DONE
