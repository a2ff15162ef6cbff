"""`python -m agentjob` and the `agentjob` script: see `_cli.main`."""

import sys

from ._cli.output import buffer_streams, settle


def main() -> int:
    try:
        buffer_streams()
        from ._cli.main import main as run

        return run()
    except KeyboardInterrupt:  # Ctrl-C while the modules load, or a second one while the first is reported
        return 130
    finally:
        settle()


if __name__ == "__main__":
    sys.exit(main())
