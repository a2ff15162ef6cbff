"""`agentjob send-all` and `agentjob batch-status`. Other commands do not load this."""
