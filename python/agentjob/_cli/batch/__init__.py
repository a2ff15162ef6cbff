"""The group `agentjob batch`, one file a command. Other commands do not load this."""
