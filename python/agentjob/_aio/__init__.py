"""What `agentjob.aio` is made of."""
