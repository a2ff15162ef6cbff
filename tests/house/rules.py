"""What the house check knows: the crates and packages, the forbidden arrows, the long files."""

import re

#: The folders of the Rust crates. Their files are below `src`.
CRATES = ["core", "ffi-c", "python", "tests/emulator", "tests/faults", "tests/drivers/rust"]

#: The folders of Python modules, with the package's name; "" where scripts import their neighbours.
PACKAGES = {"python/agentjob": "agentjob", "tests/bench": "", "tests/house": "", "tests/packaging": "", "tests/python": "", "tests/report": ""}

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
PURE = ["core/src/batch/pace/", "core/src/batch/report/", "core/src/wait/schedule.rs", "core/src/call/retry.rs", "core/src/delivery.rs", "core/src/once/resolution.rs"]
IMPURE = re.compile(r"Instant::now|SystemTime|std::(?:net|fs|io::Read|thread|env)\b|\b(?:rustix|ureq|rustls|nix)::|crate::(?:os|shared|client|http::(?!cause))\b")

#: The most lines of a source file, of a file of tests, which is a list of situations, and of the first page; and the files that may be longer, with reasons.
LONGEST, LONGEST_TEST, LONGEST_README = 350, 600, 150
SOURCES = (".rs", ".py", ".pyi", ".c", ".h", ".cpp", ".hpp", ".sh", ".js", ".rb", ".lua", ".pm", ".pl", ".php", ".java", ".scm", ".cs", ".pml")
MAY_BE_LONG = {
    "include/agentjob.h": "a C program includes one header",
    "python/agentjob/aio.py": "one class, half of it signatures and their documentation",
    "python/agentjob/_native.pyi": "the stub of one extension module",
    "python/agentjob/types.py": "a list of types without code",
    "tests/model/journal.pml": "spin reads one file",
    "tests/drivers/csharp/AgentJob.cs": "a binding is one file to copy",
    "tests/drivers/java/AgentJob.java": "a binding is one file to copy",
    "tests/drivers/php/AgentJob.php": "a binding is one file to copy",
}

#: Files whose text is not ours.
NO_PROSE_OF_OURS = (
    "LICENSE", "core/LICENSE", "ffi-c/LICENSE", "ffi-c/THIRD-PARTY", "python/THIRD-PARTY", "ffi-c/packaging/notices-head",
)  # fmt: skip

#: Documents that no clone has. Comments cite docs/contract.md, with its heading, or an RFC.
NOT_IN_A_CLONE = re.compile(r"\b(?:CONTRACT|DESIGN|HOUSE)\b|\b(?:WORDS|STYLE)\.md|\.\./shared|/work/")
