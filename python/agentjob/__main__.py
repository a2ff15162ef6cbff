"""`python -m agentjob` and the `agentjob` script: see `_cli`."""

import sys


def main():
    try:
        from ._cli import main as run
    except KeyboardInterrupt:  # Ctrl-C before anything began
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
