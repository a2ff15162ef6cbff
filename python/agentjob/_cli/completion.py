"""`agentjob completion`: a script that completes commands and flags, made by shtab from the command line's own parser."""

from .. import errors
from .arguments import parser

#: The metavars that stand for a file.
FILES = ("FILE", "RUN")


class MissingError(errors.Error):
    """A package that is needed is not installed."""

    kind = "missing"


def script(shell):
    """The completion script for a shell."""
    try:
        import shtab
    except ImportError:
        raise MissingError("the script is made by shtab, which is not installed. Install agentjob[cli].") from None
    top = parser()
    prepare(top, shtab.FILE)
    return shtab.complete(top, shell)


def prepare(command, file):
    """Completes what stands for a file, here and in the commands of a group."""
    for action in command._actions:
        if action.metavar in FILES:
            action.complete = file
        elif action.metavar == "COMMAND":
            action.help = "command"  # shtab needs one, and the parser has none, because its description lists the commands
            for sub in action.choices.values():
                prepare(sub, file)
