"""`python -m agentjob` and the `agentjob` script: see `_cli.main`."""

import sys

from ._cli import exit
from ._cli.output import buffer_streams, settle
from ._cli.signals import SIGNALS, number_of


def main() -> int:
    SIGNALS.install()
    try:
        buffer_streams()
        from ._cli.main import main as run

        return run()
    except KeyboardInterrupt as interrupt:  # a signal while the modules load
        return exit.of_signal(number_of(interrupt))
    finally:
        SIGNALS.over()
        settle()


if __name__ == "__main__":
    sys.exit(main())
