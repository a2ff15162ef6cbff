"""`agentjob batch drop`: the batch is done with messages that no run is to send."""

from ..._native import batch_drop
from .decided import items_of, show


def main(options, report):
    return show(batch_drop(options.run, items_of(options.items)), options, report)
