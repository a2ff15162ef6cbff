"""`python -m agentjob` and the `agentjob` script: see `_cli.main`."""

import signal
import sys

from ._cli.output import buffer_streams, settle
from ._cli.signals import SIGNALS, handle_all


def main() -> int:
    """Runs the command line in a program, which handles signals itself afterwards."""
    return _run(lambda before: before())


def console() -> int:
    """Runs the command line as a process that ends with it. Python's own end takes handlers back, and a signal would still kill a
    command that has reported how it ended: so it ignores them."""
    return _run(lambda before: handle_all(signal.SIG_IGN))


def _run(at_end):
    before = SIGNALS.install()
    try:
        buffer_streams()
        from ._cli.main import main

        return main()
    finally:
        SIGNALS.over()
        settle()
        at_end(before)
        SIGNALS.reported()


if __name__ == "__main__":
    sys.exit(console())
