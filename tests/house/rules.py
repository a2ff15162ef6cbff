"""What the house check knows: the crates and packages, the forbidden arrows, the words that must not come back, the long files."""

import re

#: The folders of the Rust crates. Their files are below `src`.
CRATES = ["core", "ffi-c", "python", "tests/emulator", "tests/faults", "tests/drivers/rust"]

#: The folders of Python modules, with the package's name; "" where scripts import their neighbours.
PACKAGES = {"python/agentjob": "agentjob", "tests/bench": "", "tests/house": "", "tests/packaging": "", "tests/python": ""}

#: Dependencies that a crate's Cargo.toml must not name, and why.
FORBIDDEN_DEPENDENCIES = {
    "core": (["agentjob-ffi-c", "agentjob-python", "pyo3"], "the core knows neither C nor Python"),
    "tests/emulator": (["agentjob-core", "ureq"], "the emulator and the client must not share a mistake"),
}

#: What a file must not import: (the importing file or folder, the imported file or folder, why).
FORBIDDEN_IMPORTS = [
    ("core/src/config/", "core/src/client.rs", "client.rs owns build()"),
    ("core/src/config/", "core/src/lib.rs", "lib.rs re-exports the client; import from the file that defines a thing"),
    ("python/agentjob/_cli/batch/", "python/agentjob/_cli/main.py", "main imports the batch commands"),
]

#: Files that decide and therefore do no I/O: they get times and facts as arguments.
PURE = ["core/src/batch/pace/", "core/src/wait/schedule.rs", "core/src/call/retry.rs", "core/src/delivery.rs"]
IMPURE = re.compile(r"Instant::now|SystemTime|std::(?:net|fs|io::Read|thread|env)\b|\b(?:rustix|ureq|rustls|nix)::|crate::(?:os|shared|client|http::(?!cause))\b")

#: The most lines of a source file, and of a file of tests, which is a list of situations; and the files that may be longer, with reasons.
LONGEST, LONGEST_TEST = 400, 600
SOURCES = (".rs", ".py", ".pyi", ".c", ".h", ".cpp", ".hpp", ".sh", ".js", ".rb", ".lua", ".pm", ".pl", ".php", ".java", ".scm", ".cs", ".pml")
MAY_BE_LONG = {
    "include/agentjob.h": "a C program includes one header",
    "python/agentjob/aio.py": "one class, half of it signatures and their documentation",
    "python/src/client.rs": "pyo3 needs the methods of a class in one block",
    "python/agentjob/_native.pyi": "the stub of one extension module",
    "tests/model/journal.pml": "spin reads one file",
    "tests/drivers/csharp/AgentJob.cs": "a binding is one file to copy",
    "tests/drivers/java/AgentJob.java": "a binding is one file to copy",
    "tests/drivers/php/AgentJob.php": "a binding is one file to copy",
}

#: Words that read as if translated, and what to write instead. They are looked for where users and maintainers read.
WORDS = {
    r"glances?": "poll, or check",
    r"leftovers?": "background close, or the files' own name",
    r"under way": "in flight, in progress",
    r"on its way": "in flight",
    r"mend(?:s|ed|ing)?": "fix",
    r"as good as": "cut it",
    r"for ever": "forever",
    r"anew": "again",
    r"nevertheless": "still",
    r"to be had": "available",
    r"in its stead": "instead",
    r"at hand": "available",
    r"whoever|somebody|nobody": "name the caller, the thread, the service",
    r"hears? of": "is notified of",
    r"(?:is|are|was|were) told(?! to\b)": "gets, is notified",
    r"bec[ao]mes? of": "delivery verdict, outcome",
    r"goes on": "continues, resumes",
    r"troubled?|troubles": "service failure, outage",
    r"trials?": "probe",
    r"owed": "must_poll",
    r"(?:a|one|the|next|first|last|each|its) look": "poll",
}
READ_BY_USERS = (
    "core/src/", "core/examples/", "ffi-c/src/", "ffi-c/examples/", "include/", "python/src/", "python/agentjob/", "python/examples/",
    "docs/", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
)  # fmt: skip

#: Documents that no clone has. Comments cite docs/contract.md, with its heading, or an RFC.
NOT_IN_A_CLONE = re.compile(r"\b(?:CONTRACT|DESIGN|HOUSE)\b|\b(?:WORDS|STYLE)\.md|\.\./shared|/work/")
