"""`agentjob batch drop`: the batch is done with messages that no run is to send."""

from ..._native import batch_drop
from .decided import decide, items_of


def main(options, report):
    items = items_of(options.items)
    return decide(lambda: batch_drop(options.run, items), options, report)
