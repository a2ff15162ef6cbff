"""`python -m agentjob` and the `agentjob` script: see `_cli`."""

import sys

from ._output import settle


def main() -> int:
    try:
        from ._cli import main as run

        return run()
    except KeyboardInterrupt:  # Ctrl-C before anything began, or once more while the first one is told of
        return 130
    finally:
        settle()


if __name__ == "__main__":
    sys.exit(main())
