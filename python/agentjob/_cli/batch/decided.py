"""What the commands that decide have in common: which items are named, and what is printed of a decision."""

import json
import shlex

from ... import errors
from ..._native import batch_status, parse_item_name
from .. import exit
from ..output import print_result
from ..prompt import prompt_of
from ..signals import SIGNALS
from ..terminal import printable
from .describe import place, plural
from .status import run_command

#: They are on the disk before they are printed, and cannot be made twice.
NOT_PRINTED = "the decisions are in the journal, but could not be printed"


def items_of(words):
    """The items that were typed, as numbers and keys, or "all" alone."""
    if words == ["all"]:
        return "all"
    if "all" in words:
        raise errors.InvalidArgumentError("all is given together with items. Give either all or the items.")
    return [parse_item_name(word) for word in words]


def read_prompt_file(file):
    """The prompt in a file; - is stdin."""
    from .items import content, name_of

    return prompt_of(content(file), f"in {name_of(file)}")


def decide(write, options, report, prompt_file=None):
    """Writes decisions into the journal and prints them, and returns the exit status. A signal ends the command before
    that, or changes nothing: what is decided is printed. prompt_file: the file of the decisions' new prompt, as a shell reads it."""
    with SIGNALS.held():
        with SIGNALS.limit(False):
            decisions = write()
        return show(decisions, options, report, prompt_file)


def show(decisions, options, report, prompt_file):
    report.end()
    if options.json:
        print_result(json.dumps(decisions, indent=2) + "\n", NOT_PRINTED)
        return exit.DONE
    text = "".join(f"{place(made)}: {made['decision']}\n" for made in decisions)
    sent = sum(made["decision"] in ("not_arrived", "resend", "retry") for made in decisions)
    if sent:
        in_it = sent if prompt_file else 0
        command = run_command(batch_status(options.run), shlex.quote(options.run), prompt_file, in_it)
        text += f"{plural(sent, 'message')} to send, by: {printable(command)}\n"
    print_result(text, NOT_PRINTED)
    return exit.DONE
