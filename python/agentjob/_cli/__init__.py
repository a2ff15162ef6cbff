"""The command line: `agentjob`, or `python -m agentjob`. It starts in `main`."""
