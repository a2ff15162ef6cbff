"""`agentjob batch export`: every message of a journal with its outcome and what was decided."""

from ..._native import batch_export
from .. import exit
from ..output import print_result


def main(options, report):
    print_result(batch_export(options.run, options.format), "the export could not be written")
    return exit.DONE
