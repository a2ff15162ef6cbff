"""The texts of --help."""

ABOUT = """\
Send a follow-up message to an agent job, and follow the job until it is done.
The job's record goes to stdout as JSON; progress and errors go to stderr.
"""

COMMANDS = {
    "send": "send a message to a job",
    "wait": "wait until a job is done",
    "get": "print a job's record",
    "create": "create a job",
    "send-all": "send the messages of a file, each at most once; run again to resume",
    "batch-status": "show the progress of a send-all batch, from its journal",
    "demo": "send a message to an emulator of the service, and wait for the result",
    "emulator": "run the emulator on its own, on loopback",
    "completion": "print a script that completes commands and flags in a shell",
}

SETTINGS = """\
settings, from the environment:
  AGENTJOB_BASE_URL       the service's URL, https://...
  AGENTJOB_API_KEY        the key, or AGENTJOB_API_KEY_FILE, a file that contains only the key and that
                          no other user can read (AGENTJOB_ALLOW_SHARED_KEY_FILE=1 allows that);
                          no flag takes the key, because it would show in the list of processes
  AGENTJOB_PROJECT_ID     the project of the jobs
  AGENTJOB_CA_FILE, AGENTJOB_TIMEOUT, HTTPS_PROXY, NO_PROXY and NO_COLOR work too; a flag overrides its variable
"""

FILE_FORMATS = """\
the file; every line is checked before anything is sent:
  JSONL   one object per line: {"job_id": "job_1", "prompt": "Add tests", "key": "an optional name of your own"}
  CSV     a header, job_id,prompt or job_id,prompt,key, then one record per message
  A message without a key is identified by its content and its position: add new messages at the end.

the journal records what was sent. Run the same command again to resume, however the last run ended:
  accepted and rejected messages are not sent again; messages that may have arrived are listed, and not sent again either.
  stdout has one outcome per line, as JSON: item, line, key, job_id, delivery, job, error, earlier.
"""

EXAMPLES = {
    "": """\
  agentjob demo                                     try it out; needs no service and no settings
  agentjob send job_123 "Also cover the error cases" --wait
  agentjob get job_123
  agentjob COMMAND --help                           a command's own flags
""",
    "send": """\
  agentjob send job_123 "Also cover the error cases"
  agentjob send job_123 "Also cover the error cases" --wait > record.json
  git diff | agentjob send job_123 - --wait --wait-timeout 3600
""",
    "wait": """\
  agentjob wait job_123
  agentjob wait job_123 --wait-timeout none --json-events
  agentjob wait --resume '{"agentjob_poller":1,...}'    the text that Ctrl-C printed
""",
    "get": "  agentjob get job_123\n",
    "create": '  agentjob create "Write the missing tests" --wait\n',
    "send-all": """\
  agentjob send-all messages.jsonl --journal night.journal --rate 100/h
  agentjob send-all messages.csv --journal night.journal --wait | jq -r .job.prLink
  agentjob send-all messages.jsonl --journal night.journal --resend-unknown
""",
    "batch-status": """\
  agentjob batch-status night.journal
  agentjob batch-status night.journal --json | jq .progress
""",
    "demo": "  agentjob demo\n",
    "completion": """\
  eval "$(agentjob completion bash)"                in ~/.bashrc
  eval "$(agentjob completion zsh)"                 in ~/.zshrc, after compinit
  agentjob completion tcsh > ~/.agentjob.tcsh       and in ~/.tcshrc: source ~/.agentjob.tcsh
""",
}
