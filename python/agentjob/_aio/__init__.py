"""The parts of `agentjob.aio`."""
