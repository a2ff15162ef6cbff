"""`agentjob batch retry`: rejected messages are sent again by the next run."""

import shlex

from ..._native import batch_retry
from .decided import items_of, read_prompt_file, show


def main(options, report):
    file = options.prompt_file
    prompt = None if file is None else read_prompt_file(file)
    decisions = batch_retry(options.run, items_of(options.items), prompt)
    return show(decisions, options, report, "FILE" if file == "-" else file and shlex.quote(file))
