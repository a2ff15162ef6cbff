"""The glossary: words that read as if translated, or that name one thing twice, and what to write instead.

The house check looks for them in pages, comments, messages and names alike. A space also stands for the end of a line in a comment.
Matching ignores case, and an underscore separates words.

A row whose words are good elsewhere has the folders in which they are wrong. EXCEPTIONS lists what a row finds and may stay.
"""

#: (the words, what to write instead, a sentence that the row refuses)
EVERYWHERE = [
    # Of our own polls. A person may look at a page; a program checks or polls.
    (r"glances?", "poll, or check", "A glance at the job"),
    (r"(?:a|one|the|next|first|last|each|every|another|its) looks?", "poll", "after the next look"),
    (r"looks? at (?:a|the|its|your|each) (?:job|record|service|verdict)s?", "poll the job, check the record", "It looks at the job"),
    # Of functions.
    (r"(?:is|are|was|were) told(?! to\b)", "gets, is notified", "The caller is told"),
    (r"tells? (?:its|the|a) (?:owner|batch|caller|thread|program)", "notify, report to", "It tells the owner"),
    (r"(?:tells?|hears?) of", "report, is notified of", "The thread hears of it"),
    # Of what lasts.
    (r"go(?:es|ing)? on|went on|gone on", "continue, resume", "The batch goes on"),
    (r"(?:takes?|took|taken|taking) (?:it |them )?up again", "resume", "The work is taken up again"),
    (r"under way", "in flight, in progress", "A poll is under way"),
    (r"on (?:its|their) way", "in flight", "A message on its way"),
    (r"at work", "running, active", "The agent is at work"),
    (r"times? (?:is|are|was|were) over", "timed out, the deadline has passed", "until the time is over"),
    (r"bec[ao]mes? of", "delivery verdict, outcome", "What became of it"),
    (r"mend(?:s|ed|ing)?", "fix", "Mend the list"),
    # What English has a plainer word for.
    (r"as good as", "roughly, or cut it", "Now, as good as."),
    (r"none of them", "no …, never, not any", "None of them was made"),
    (r"for ever", "forever", "It waits for ever"),
    (r"anew", "again", "It begins anew"),
    (r"nevertheless", "still", "It is sent nevertheless"),
    (r"to be had", "available", "No memory is to be had"),
    (r"at hand", "available", "No record is at hand"),
    (r"in its stead", "instead", "A second one in its stead"),
    (r"in doubt", "unknown", "The message is in doubt"),
    (r"whoever|somebody|nobody", "name the caller, the thread, the service", "whoever finds the lock taken"),
    (r"names to be awaited|asked for yet|used up until|mend that|lets? go(?= of a value)", "say it as you would aloud", "used up until noon"),
    # One name for one thing.
    (r"gates?", "circuit breaker", "The gate is closed"),
    (r"trials?", "probe, or attempt", "After a pause one trial"),
    (r"troubled?|troubles", "service failure, outage", "after trouble"),
    (r"concern(?:s|ed|ing)?", "failure scope, or “about”", "The concern of a failure"),
    (r"owed", "must_poll", "A poll is owed"),
    (r"leftovers?", "the batches that close, or the files' own name", "The leftovers are closed"),
    (r"(?:Unauthorized|Unauthenticated|Forbidden|TooManyRequests|RateLimited|InvalidRequest|ServiceTimeout)Error",
     "the names that users of other clients type: AuthenticationError, PermissionDeniedError, RateLimitError, BadRequestError, RequestTimeoutError",
     "except ForbiddenError"),
]  # fmt: skip

#: (the words, what to write instead, the folders, a sentence that the row refuses)
IN_FOLDERS = [
    # A function returns, a service responds. Only a question has an answer.
    (r"(?:No)?answer(?:s|ed|ing)?", "return, response, respond",
     ("core/", "ffi-c/", "include/", "python/", "tests/", "docs/", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"),
     "The function answers"),
]  # fmt: skip

#: Names of files and modules that say nothing about the field, and the names that replaced them.
NAMES = {
    "words": "describe", "shown": "escape", "owed": "must_poll", "leftovers": "closing", "ending": "stop_errors",
    "tuning": "client_options", "hold": "interrupts", "work": "engine", "gate": "circuit_breaker", "trouble": "service_failure",
    "concern": "failure_scope", "utils": "a name for the one idea", "helpers": "a name for the one idea", "misc": "a name for the one idea",
}  # fmt: skip
NAMED_IN = ("core/src/", "ffi-c/src/", "python/src/", "python/agentjob/", "tests/emulator/src/", "tests/faults/src/")

#: (the start of a path, what the line has, why it may stay)
EXCEPTIONS = [
    ("tests/house/", r"", "the glossary and its tests"),
    ("", r"[\"'` _]nobody[\"'`_\\]|\bjob nobody\b|\*nobody\[\]|, nobody, 1|NOBODY|for_nobody", "a job id that does not exist, and a user of Unix"),
    ("tests/", r"[\"'][Gg]o on[\"']", "a prompt of a test"),
    ("ffi-c/check-install.sh", r"\"go on\"", "a prompt of a test"),
    ("tests/bench/", r"At a glance", "an idiom, in a heading"),
    ("docs/decisions/a-journal-and-not-a-database.md", r"asks one question .* answers it", "an answer to a question"),
    ("tests/docs/", r"glance", "reads the heading of tests/bench/RESULTS.md"),
]
