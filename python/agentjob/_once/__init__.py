"""The parts of agentjob.once."""
