#!/usr/bin/env python3
"""Feeds each rule of the house check inputs that it must refuse, and inputs that it must accept."""

import sys

import imports
import text
from check import Tree, arrows, longer_circles, mutual_imports
from glossary import EVERYWHERE, IN_FOLDERS

CARGO = 'version = "0.1.0"\nrust-version = "1.89"\nrepository = "https://github.com/us/agentjob"\n'
PAGE = """
```text
core/src/        the core
  lib.rs
  call/          one call (retry.rs, mod.rs)
```

| change | file |
| --- | --- |
| a retry | `core/src/call/retry.rs` |
"""
CORE = '[package]\nname = "agentjob-core"\nversion.workspace = true\n[dependencies]\n# A parser.\nserde.workspace = true\nureq = { version = "3" }\nrcgen = { optional = true }\n'
CORE += "[dev-dependencies]\nlog = \"0.4\"\n[target.'cfg(windows)'.dependencies]\n"
LOCK = '[[package]]\nname = "agentjob-core"\nversion = "0.1.0"\ndependencies = [\n "serde",\n "ureq 3.5.1",\n]\n'
GOOD = {
    "Cargo.toml": CARGO,
    "README.md": "# Title\n\nYou need Rust 1.89+.\n",
    "CONTRIBUTING.md": "## A part: one\n\n[Here](#a-part-one), [there](docs/architecture.md).\n",
    "docs/architecture.md": PAGE,
    "core/src/lib.rs": "mod call;\n",
    "core/src/call/mod.rs": "mod retry;\n",
    "core/src/call/retry.rs": "// See `lib.rs` and docs/architecture.md.\nuse std::time::Instant;\n",
}

#: (the rule, the files that are put into the good tree, a part of what the rule must say; "" where it must say nothing)
CASES = [
    # Two files that import each other.
    (mutual_imports, {}, ""),
    (mutual_imports, {"core/src/a.rs": "use crate::b::B;", "core/src/b.rs": "fn f() { crate::a::g() }"}, "core/src/a.rs and core/src/b.rs"),
    (mutual_imports, {"core/src/a.rs": "use crate::{call::retry, b::{self, C}};", "core/src/b.rs": "use super::a::A as B;"}, "a.rs and core/src/b.rs"),
    (mutual_imports, {"core/src/lib.rs": "pub use call::retry::Retry;", "core/src/call/retry.rs": "use crate::Error;"}, "retry.rs and core/src/lib.rs"),
    (mutual_imports, {"core/src/a.rs": "use crate::b::B;", "core/src/b.rs": '// use crate::a::A;\nlet x = "crate::a::A";'}, ""),
    (mutual_imports, {"core/src/a.rs": "use crate::b::B;", "core/src/b.rs": "#[cfg(test)]\nmod tests {\n use crate::a::A; }"}, ""),
    (mutual_imports, {"python/agentjob/a.py": "from . import b", "python/agentjob/b.py": "def f():\n    from .a import g"}, "a.py and python/agentjob/b.py"),
    (mutual_imports, {"python/agentjob/a/__init__.py": "from .b import c", "python/agentjob/a/b.py": "import agentjob.a"}, "__init__.py and"),
    (mutual_imports, {"python/agentjob/a.py": "import agentjob.b", "python/agentjob/b.py": "if TYPE_CHECKING:\n    from .a import g"}, ""),
    (mutual_imports, {"tests/bench/a.py": "import b", "tests/bench/b.py": "from a import c"}, "tests/bench/a.py and tests/bench/b.py"),
    (
        longer_circles,
        {"core/src/a.rs": "use crate::b::B;", "core/src/b.rs": "use crate::c::C;", "core/src/c.rs": "use crate::a::A;"},
        "core/src/a.rs core/src/b.rs core/src/c.rs",
    ),
    # Arrows that must never be.
    (arrows, {"core/Cargo.toml": "[dependencies]\nagentjob-ffi-c.workspace = true\n"}, "depends on agentjob-ffi-c"),
    (arrows, {"tests/emulator/Cargo.toml": "[dependencies]\nagentjob-core.workspace = true\n"}, "must not share a mistake"),
    (arrows, {"core/src/client.rs": "", "core/src/config/builder.rs": "use crate::client::Client;"}, "client.rs owns build()"),
    (arrows, {"core/src/config/builder.rs": "use crate::Client;"}, "lib.rs re-exports"),
    (arrows, {"core/src/config/builder/tests.rs": "use crate::Client;"}, ""),
    (arrows, {"core/src/call/retry.rs": "use crate::http::cause::Cause;"}, ""),
    (arrows, {"core/src/call/retry.rs": "use crate::http::exchange::Exchange;"}, "uses crate::http::"),
    (arrows, {"core/src/delivery.rs": "fn f() { std::time::Instant::now(); }"}, "uses Instant::now"),
    (arrows, {"core/src/batch/pace/rate.rs": "use std::fs::File;"}, "uses std::fs"),
    (arrows, {"core/src/call/retry.rs": "use rustix::net;"}, "uses rustix::"),
    (
        arrows,
        {"python/agentjob/_cli/main.py": "", "python/agentjob/_cli/batch/run.py": "from ..main import main"},
        "imports python/agentjob/_cli/main.py",
    ),
    # The page about the architecture.
    (text.architecture, {}, ""),
    (text.architecture, {"docs/architecture.md": None}, "does not exist"),
    (text.architecture, {"core/src/http/tls.rs": ""}, "leaves out core/src/http/"),
    (text.architecture, {"tests/model/check.sh": ""}, "leaves out tests/model/"),
    (text.architecture, {"docs/architecture.md": PAGE.replace("call/ ", "gone/")}, "names core/src/gone/"),
    (text.architecture, {"docs/architecture.md": PAGE.replace("mod.rs)", "gone.rs)")}, "names core/src/call/gone.rs"),
    (text.architecture, {"docs/architecture.md": PAGE + "| a wait | `core/src/gone.rs` |\n"}, "names core/src/gone.rs"),
    (text.architecture, {"docs/architecture.md": PAGE + "| a wait | somewhere |\n"}, "names no file"),
    # What comments and pages cite.
    (text.citations, {}, ""),
    (text.citations, {"core/src/a.rs": '//! The record (CONTRACT "Job record").'}, "core/src/a.rs:1: cites CONTRACT"),
    (text.citations, {"core/src/a.rs": "\n// As in HOUSE.md."}, "core/src/a.rs:2: cites HOUSE"),
    (text.citations, {"core/src/a.rs": "// As in ../shared/x."}, "cites ../shared"),
    (text.citations, {"core/src/a.rs": "// See core/src/gone.rs."}, "cites core/src/gone.rs"),
    (text.citations, {"core/src/a.rs": "// See `gone.rs`."}, "cites gone.rs"),
    (text.citations, {"core/src/a.rs": "// See call/gone.rs."}, "cites call/gone.rs"),
    (text.citations, {"core/src/a.rs": '// (docs/contract.md, "A job")', "docs/contract.md": "## A job\n"}, ""),
    (text.citations, {"core/src/a.rs": '// (docs/contract.md, "get job")', "docs/contract.md": "| get job | GET |\n"}, ""),
    (text.citations, {"core/src/a.rs": '// (docs/contract.md, "A task")', "docs/contract.md": "## A job\n"}, "cites “A task”"),
    (text.links, {}, ""),
    (text.links, {"docs/page.md": "[x](../README.md#title) [y](../core/src)"}, ""),
    (text.links, {"docs/page.md": "[x](gone.md)"}, "links to gone.md"),
    (text.links, {"docs/page.md": "[x](../README.md#gone)"}, "a heading that does not exist"),
    (text.links, {"docs/page.md": "[x](https://github.com/us/agentjob/blob/main/README.md#title) [y](https://github.com/them/x)"}, ""),
    (text.links, {"docs/page.md": "[x](https://github.com/us/agentjob/blob/main/gone.md)"}, "gone.md, which does not exist"),
    (text.links, {"docs/page.md": "[x](https://github.com/us/agentjob/blob/main/README.md#gone)"}, "a heading that does not exist"),
    (text.links, {"docs/page.md": "![x](https://raw.githubusercontent.com/us/agentjob/main/gone.svg)"}, "gone.svg, which does not exist"),
    (text.links, {"docs/page.md": "[![x](https://them.example/x.svg)](gone.md)"}, "gone.md, which does not exist"),
    (text.links, {"docs/page.md": '[x](gone.md "title")'}, "gone.md, which does not exist"),
    (text.links, {"README.md": "[x](http://github.com/us/agentjob)"}, "doesn't work on PyPI"),
    (text.links, {"README.md": "[x](CONTRIBUTING.md)"}, "doesn't work on PyPI"),
    # Length, words, the Rust version, the address.
    (text.long_files, {"core/src/a.rs": "\n" * 351}, "core/src/a.rs: 351 lines"),
    (text.long_files, {"core/tests/a.rs": "\n" * 401}, ""),
    (text.long_files, {"core/tests/a.rs": "\n" * 601}, "more than 600"),
    (text.long_files, {"README.md": "\n" * 151}, "README.md: 151 lines"),
    (text.words, {"core/src/a.rs": "\n// No glance.\n"}, "core/src/a.rs:2: “glance”"),
    (text.words, {"core/src/a.rs": "fn last_glance_at() {}"}, "“glance”"),
    (text.words, {"core/src/batch/gone/leftovers.rs": ""}, "its name has “leftovers”"),
    (text.words, {"README.md": "what is under\nway"}, "README.md:1: “under way”"),
    (text.words, {"core/src/a.rs": "/// what is under\n    /// way\n"}, "“under way”"),
    (text.words, {"tests/emulator/src/a.rs": "/// No one answers."}, "“answers”"),
    (text.words, {"core/tests/a.rs": "fn a_service_never_answers() {}"}, "“answers”"),
    (text.words, {"docs/page.md": "The journal answers that."}, "“answers”"),
    (text.words, {"docs/decisions/a-journal-and-not-a-database.md": "It asks one question after a crash. A file answers it."}, ""),
    (text.words, {"tests/c/a.c": 'send("Go on");'}, ""),
    (text.words, {"tests/c/a.c": "/* It goes on. */"}, "“goes on”"),
    (text.words, {"docs/page.md": "A message to job nobody, and nobody waits."}, ""),
    (text.words, {"core/src/batch/words.rs": ""}, "the name “words” says too little"),
    (text.words, {"core/src/batch/words/mod.rs": ""}, "the name “words” says too little"),
    *((text.words, {"core/src/a.rs": f"// {sentence}"}, f": {instead}") for _, instead, sentence in EVERYWHERE),
    *((text.words, {folders[0] + "a.rs": f"// {sentence}"}, f": {instead}") for _, instead, folders, sentence in IN_FOLDERS),
    (text.words, {"core/src/a.rs": "// We amend and recommend commends."}, ""),
    (text.rust_version, {}, ""),
    (text.rust_version, {"README.md": "You need Rust 1.88+."}, "Rust 1.89"),
    (text.rust_version, {"CONTRIBUTING.md": "Rust 1.90"}, "CONTRIBUTING.md: says Rust 1.90"),
    (text.rust_version, {"core/Cargo.toml": 'rust-version = "1.89"'}, "of its own"),
    (text.repository_address, {"docs/page.md": "[x](https://github.com/us/agentjob/blob/main/y) https://github.com/acme/widgets"}, ""),
    (text.repository_address, {"docs/page.md": "![x](https://raw.githubusercontent.com/us/agentjob/main/y.svg)"}, ""),
    (text.repository_address, {"docs/page.md": "pip install git+https://github.com/them/agentjob"}, "docs/page.md:1: https://github.com/them/agentjob"),
    (text.repository_address, {"docs/page.md": "https://pypi.org/project/agentjob git@github.com:us/agentjob.git"}, ""),
    (text.repository_address, {"docs/page.md": "git clone git@github.com:them/agentjob.git"}, "git@github.com:them/agentjob"),
    (text.repository_address, {"docs/page.md": "http://github.com/them/agentjob"}, "docs/page.md:1"),
    (text.repository_address, {"core/README.md": "[x](https://gitlab.com/us/agentjob)"}, "core/README.md:1"),
    (text.repository_address, {"core/Cargo.toml": 'repository = "https://github.com/us/agentjob"'}, "of its own"),
    (text.lock_files, {"core/Cargo.toml": CORE, "tests/x/Cargo.lock": LOCK}, ""),
    (text.lock_files, {"core/Cargo.toml": CORE + 'same-file = "1"\n[features]\nfuzzing = []\n', "tests/x/Cargo.lock": LOCK}, "lacks same-file, which agentjob-core"),
    (text.lock_files, {"core/Cargo.toml": CORE, "tests/x/Cargo.lock": LOCK.replace("0.1.0", "0.0.9")}, "has agentjob-core 0.0.9"),
    (text.lock_files, {"core/Cargo.toml": CORE, "tests/x/Cargo.lock": LOCK.replace('"ureq 3.5.1",', "")}, "lacks ureq"),
]


def complaints(rule, files):
    tree = Tree({name: source for name, source in {**GOOD, **files}.items() if source is not None})
    # The lists of rules.py and glossary.py name files of the real tree.
    return [line for line in rule(tree) if not line.startswith(("tests/house/rules.py", "tests/house/glossary.py"))]


def main():
    failed = 0
    for rule, files, expected in CASES:
        found = complaints(rule, files)
        good = any(expected in line for line in found) if expected else not found
        if not good:
            failed += 1
            print(f"FAILED {rule.__name__} with {files}: expected {expected or 'nothing'!r}, got {found}")
    assert imports.use_tree("a::{b, c::{d, self}, e as f}") == ["a::b", "a::c::d", "a::c::self", "a::e"]
    print(f"{len(CASES) - failed} of the house check's own tests passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
