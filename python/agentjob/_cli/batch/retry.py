"""`agentjob batch retry`: rejected messages are sent again by the next run."""

import shlex

from ..._native import batch_retry
from .decided import decide, items_of, read_prompt_file


def main(options, report):
    file = options.prompt_file
    prompt = None if file is None else read_prompt_file(file)
    items = items_of(options.items)
    again = "FILE" if file == "-" else file and shlex.quote(file)
    return decide(lambda: batch_retry(options.run, items, prompt), options, report, again)
