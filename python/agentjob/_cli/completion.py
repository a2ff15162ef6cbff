"""`agentjob completion`: the scripts beside this file, which `python/tools/completions.py` generates with shtab."""

from pathlib import Path

from .output import OutputError


def script(shell):
    """The completion script for a shell."""
    path = Path(__file__).with_name("completions") / f"agentjob.{shell}"
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise OutputError(f"the package's completion script for {shell} cannot be read: {error}") from None
