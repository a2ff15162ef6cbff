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
    "batch": "send the messages of a file, each at most once; see agentjob batch --help",
    "demo": "send a message to an emulator of the service, and wait for the result",
    "emulator": "run the emulator on its own, on loopback",
    "help": "print the help of a command, or of the settings: agentjob help settings",
    "completion": "print a script that completes commands and flags in a shell",
}

BATCH_ABOUT = """\
Send the messages of a file, each at most once, and see how far the batch is. A batch records its progress in a journal,
the file RUN, and can be stopped at any time: the same command resumes it.
"""

BATCH_COMMANDS = {
    "batch run": "send the messages of a file, each at most once; run again to resume",
    "batch status": "show the progress of a batch from its journal, and what is left to decide",
    "batch resolve": "decide about messages that may have arrived",
    "batch retry": "send rejected messages again, by the next run",
    "batch drop": "take messages out of a batch: no run sends them",
    "batch export": "print every message with its outcome, as CSV or JSON",
    "batch report": "make a page about a batch, from its journal: one HTML file that loads nothing",
}

DECISIONS = """\
ITEM is a number, a key or all; a key that reads as one of the others is written key:17. A decision is a line of the journal, and the
next run acts on it; until then it can be decided otherwise. A call decides about all of its items or, after an error, about none.
While a run is active nothing can be decided: stop it with Ctrl-C, decide, and run the same command again.
"""

#: The last line of a command's help.
MORE = "the service, its key, polling and exit statuses: agentjob help settings\n"

SETTINGS = """\
settings, from the environment:
  AGENTJOB_BASE_URL       the service's URL, https://...
  AGENTJOB_API_KEY        the key, or AGENTJOB_API_KEY_FILE, a file that contains only the key and that
                          no other user can read (AGENTJOB_ALLOW_SHARED_KEY_FILE=1 allows that);
                          no flag takes the key, because it would show in the list of processes
  AGENTJOB_PROJECT_ID     the project of the jobs
  AGENTJOB_HEADERS        request headers for gateways and tenants, lines 'Name: value'; --header adds more, but shows
                          in the list of processes: give a secret here, or in a file as --header @FILE
  AGENTJOB_CA_FILE, AGENTJOB_CLIENT_CERT, AGENTJOB_CLIENT_KEY, AGENTJOB_TIMEOUT, HTTPS_PROXY, NO_PROXY and NO_COLOR
                          work too; a flag overrides its variable
"""

#: What `agentjob help settings` adds to SETTINGS.
WAITS = """\
waits, from the environment, in seconds:
  AGENTJOB_WAIT_TIMEOUT   how long to wait (1800), or none
  AGENTJOB_MIN_INTERVAL, AGENTJOB_MAX_INTERVAL
                          the shortest and the longest pause between two polls (2, 60)
  AGENTJOB_LATENESS       how late the end may be noticed, as a fraction of the time waited (0.15)
  AGENTJOB_SETTLE         how long after a message a finished job may show its previous result (10)
"""

FILE_FORMATS = """\
the file; every line is checked before anything is sent:
  JSONL   one object per line: {"job_id": "job_1", "prompt": "Add tests", "key": "an optional name of your own"}
  JSON    the same objects in one array
  CSV     a header, job_id,prompt or job_id,prompt,key, then one record per message; TSV the same with tabs.
          A field with a separator, a quote or a line break is quoted: job_1,"Say ""hi"" to all"; no space before the quote
  Other columns are refused, because one may be a mistyped name; --extra keeps them as the message's own metadata.
  A message without a key is identified by its content and its position: add new messages at the end.

the journal records what was sent. Run the same command again to resume, however the last run ended:
  accepted and rejected messages are not sent again; messages that may have arrived are listed, and not sent again either.
  stdout has one outcome per line, as JSON: item, line, key, job_id, delivery, job, error, earlier, extra.
"""

#: What a command's help says besides its flags, examples and exit statuses.
NOTES = {"batch run": FILE_FORMATS, "batch resolve": DECISIONS, "batch retry": DECISIONS, "batch drop": DECISIONS}

EXAMPLES = {
    "": """\
  agentjob demo                                     try it out; needs no service and no settings
  agentjob send job_123 "Also cover the error cases" --wait
  agentjob get job_123
  agentjob COMMAND --help                           a command's own flags
""",
    "send": """\
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
    "batch": """\
  agentjob batch run messages.jsonl --journal night.journal --rate 100/h
  agentjob batch status night.journal
  agentjob batch COMMAND --help                     a command's own flags
""",
    "batch run": """\
  agentjob batch run messages.jsonl --journal night.journal --rate 100/h
  agentjob batch run messages.csv --journal night.journal --wait | jq -r .job.prLink
  agentjob batch run issues.tsv --journal night.journal --extra | jq -r .extra.title
  agentjob batch run messages.jsonl --journal night.journal --resend-unknown
""",
    "batch status": """\
  agentjob batch status night.journal
  agentjob batch status night.journal --json | jq .progress
""",
    "batch resolve": """\
  agentjob batch resolve night.journal 31 --check
  agentjob batch resolve night.journal 31 tests --arrived
  agentjob batch resolve night.journal all --not-arrived
""",
    "batch retry": """\
  agentjob batch retry night.journal 20 21
  agentjob batch retry night.journal 20 --prompt-file better.txt
""",
    "batch drop": """\
  agentjob batch drop night.journal 20
  agentjob batch drop night.journal all
""",
    "batch export": """\
  agentjob batch export night.journal --csv > night.csv
  agentjob batch export night.journal --jsonl | jq -r .pr_link
""",
    "batch report": """\
  agentjob batch report night.journal -o night.html
  agentjob batch report night.journal -o - > night.html
""",
    "demo": "  agentjob demo\n",
    "help": """\
  agentjob help settings
  agentjob help batch run
""",
    "completion": """\
  eval "$(agentjob completion bash)"                in ~/.bashrc
  eval "$(agentjob completion zsh)"                 in ~/.zshrc, after compinit
  agentjob completion tcsh > ~/.agentjob.tcsh       and in ~/.tcshrc: source ~/.agentjob.tcsh
""",
}
