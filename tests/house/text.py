"""Checks of what the files say: words, citations, links, the page about the architecture, the Rust version, the
repository's address, and lock files."""

import posixpath
import re

from glossary import EVERYWHERE, EXCEPTIONS, IN_FOLDERS, NAMED_IN, NAMES
from rules import LONGEST, LONGEST_README, LONGEST_TEST, MAY_BE_LONG, NO_PROSE_OF_OURS, NOT_IN_A_CLONE, SOURCES

FENCE = re.compile(r"^```.*?^```", re.S | re.M)
LINK = re.compile(r"\]\(([^)\s]+)")
CITED = re.compile(
    r"(?<![\w./@{}$*-])((?:core|ffi-c|python|tests|include|docs)/[\w./-]*\.(?:rs|pyi?|c|cpp|hpp|h|md|toml|json|sh|txt|pml|svg|yml))(?![\w/])"
)
SECTION = re.compile(r'(docs/[\w-]+\.md),? "([^"]+)"')
BARE = re.compile(r"(?<![\w./<>*-])([a-z]\w*(?:/\w+)*\.rs)(?!\w)")
COMMENT = re.compile(r"^\s*(?://|#|\*|/\*|\"\"\")")
BETWEEN_WORDS = r"[\s/#*!]+"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def words(tree):
    """The words of the glossary, also over the end of a line, also as a part of an identifier; and names of files that say too little."""
    rows = [("", words, instead) for words, instead, _ in EVERYWHERE]
    rows += [(folders, words, instead) for words, instead, folders, _ in IN_FOLDERS]
    read = [(name, text) for name, text in tree.texts() if not name.startswith(NO_PROSE_OF_OURS) and not name.endswith((".lock", ".json", ".svg"))]
    # One pass over each text: the group that matched says which row it was.
    groups = "|".join(f"({row.replace(' ', BETWEEN_WORDS)})" for _, row, _ in rows)
    pattern = re.compile(rf"(?<![A-Za-z])(?:{groups})(?![A-Za-z])", re.I)
    for name, text in read:
        for searched in (name, text):
            for found in pattern.finditer(searched):
                folders, _, instead = rows[found.lastindex - 1]
                if name.startswith(folders) and not excepted(name, lines_around(searched, found)):
                    said = " ".join(re.sub(r"[/#*!]", " ", found[0]).split())
                    place = f"{name}: its name has" if searched is name else f"{name}:{line_of(text, found.start())}:"
                    yield f"{place} “{said}”: {instead}"
    for name in tree.files:
        stems = {part.split(".")[0].lstrip("_") for part in name.split("/")} if name.startswith(NAMED_IN) else set()
        for stem in sorted(stems & set(NAMES)):
            yield f"{name}: the name “{stem}” says too little: {NAMES[stem]}"
    for start, line, _ in EXCEPTIONS:
        if not any(name.startswith(start) and re.search(line, text) for name, text in tree.texts()):
            yield f"tests/house/glossary.py: EXCEPTIONS has {start or 'anywhere'} with {line!r}, which nothing needs"


def lines_around(text, found):
    """The whole lines that a match is in."""
    end = text.find("\n", found.end())
    return text[text.rfind("\n", 0, found.start()) + 1 : end if end >= 0 else len(text)]


def excepted(name, lines):
    return any(name.startswith(start) and re.search(line, lines) for start, line, _ in EXCEPTIONS)


def long_files(tree):
    for name, text in tree.texts():
        lines, most = len(text.splitlines()), LONGEST_README if name == "README.md" else LONGEST_TEST if "tests/" in name else LONGEST
        if (name == "README.md" or name.endswith(SOURCES)) and lines > most and name not in MAY_BE_LONG:
            yield f"{name}: {lines} lines, more than {most}"
    for name in MAY_BE_LONG:
        if name not in tree.files:
            yield f"tests/house/rules.py: MAY_BE_LONG names {name}, which does not exist"


def citations(tree):
    """Files that a comment or a page names must be in a clone."""
    for name, text in tree.texts():
        if name.startswith(("tests/house/", *NO_PROSE_OF_OURS)) or name.endswith((".lock", ".json", ".svg")):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            found = NOT_IN_A_CLONE.search(line)
            if found:
                yield f"{name}:{number}: cites {found[0]}, which no clone has"
            for cited in CITED.findall(line):
                if not known(tree, cited) and not made_by_a_build(cited):
                    yield f"{name}:{number}: cites {cited}, which does not exist"
            for page, section in SECTION.findall(line):
                if not re.search(rf"^(?:#+ {re.escape(section)}$|\| {re.escape(section)} \|)", tree.files.get(page) or "", re.M):
                    yield f"{name}:{number}: cites “{section}”, which is neither a heading nor a table row of {page}"
            if name.endswith(".md") or COMMENT.match(line):
                for cited in BARE.findall(line):
                    if not known(tree, cited):
                        yield f"{name}:{number}: cites {cited}, which does not exist"


def known(tree, cited):
    """Whether a path is one of the clone's, from the top or from a crate's folder."""
    return any(("/" + name).endswith("/" + cited) for name in tree.files)


def made_by_a_build(cited):
    return "/build/" in cited or "/node_modules/" in cited


def links(tree):
    """The pages' links to the repository, with their anchors."""
    found = re.search(r'^repository = "(.*)"', tree.files["Cargo.toml"], re.M)
    repository = found[1] if found else ""
    ours = (repository + "/blob/main/", repository.replace("github.com", "raw.githubusercontent.com") + "/main/")
    for name, text in tree.texts():
        if not name.endswith(".md"):
            continue
        for target in LINK.findall(FENCE.sub("", text)):
            path, _, anchor = target.partition("#")
            from_top = [path[len(start) :] for start in ours if path.startswith(start)]
            if name == "README.md" and not path.startswith("https://"):
                yield f"{name}: links to {target}, which doesn't work on PyPI; begin it with {ours[0]}"
            if re.match(r"[a-z]+:", path) and not from_top:
                continue
            beside = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            page = from_top[0] if from_top else beside
            if page not in tree.files and page not in tree.folders():
                yield f"{name}: links to {target}, which does not exist"
            elif anchor and page.endswith(".md") and anchor not in anchors(tree.files[page]):
                yield f"{name}: links to {target}, a heading that does not exist"


def anchors(text):
    """What a code host makes of the headings."""
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M):
        yield re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def architecture(tree, page="docs/architecture.md"):
    """The page names only what exists, and leaves no room out."""
    text = tree.files.get(page)
    if text is None:
        yield f"{page} does not exist"
        return
    drawn = set()
    for fence in FENCE.findall(text):
        drawn.update(picture(fence))
    named = drawn | set(re.findall(r"`((?:core|ffi-c|python|tests|include|docs)/[^`\s]*)`", text))
    for name in sorted(named):
        if name.rstrip("/") not in tree.files and name.rstrip("/") not in tree.folders():
            yield f"{page}: names {name}, which does not exist"
    for room in sorted(rooms(tree)):
        if room not in {name.rstrip("/") for name in drawn}:
            yield f"{page}: the picture leaves out {room}/"
    rows = [line for line in FENCE.sub("", text).splitlines() if line.startswith("| ") and "---" not in line]
    for row in rows[1:]:
        if "`" not in row:
            yield f"{page}: names no file in “{row}”"


def picture(fence):
    """The paths of a tree that is drawn by indentation: the first words of each line, and the file names in its description."""
    parents = []
    for line in fence.splitlines()[1:-1]:
        found = re.match(r"( *)([\w./-]*/|[\w.-]+\.\w+)(?=\s|$)(.*)", line)
        if not found:
            continue
        indent, name, description = found.groups()
        while parents and parents[-1][0] >= len(indent):
            parents.pop()
        folder = parents[-1][1] if parents else ""
        yield folder + name
        if name.endswith("/"):
            folder += name
            parents.append((len(indent), folder))
        yield from (folder + file for file in re.findall(r"(?<![\w./-])[\w-]+\.(?:rs|pyi?|h|hpp|md)\b", description))


def rooms(tree):
    """The folders that the picture must show: those of the product's sources, and the parts of the tests."""
    for name in tree.files:
        folder, file = posixpath.split(name)
        if folder.startswith(("core/src", "ffi-c/src", "python/src", "python/agentjob")) and file != "tests.rs":
            yield folder
        if name.startswith("tests/") and name.count("/") > 1:
            yield "/".join(name.split("/")[:2])


def rust_version(tree):
    """`rust-version` in Cargo.toml is the one source; every page that names a version of Rust names that one."""
    found = re.search(r'^rust-version = "([\d.]+)"', tree.files["Cargo.toml"], re.M)
    if not found:
        yield "Cargo.toml: has no rust-version"
        return
    if f"Rust {found[1]}" not in tree.files.get("README.md", ""):
        yield f"README.md: does not say that you need Rust {found[1]}"
    for name, text in tree.texts():
        if name.endswith((".md", ".yml", "Makefile")) and not name.startswith("tests/bench/"):
            for said in re.findall(r"\b[Rr]ust(?:c|-version)? (?:version )?(\d\.\d+)", text):
                if said != found[1]:
                    yield f"{name}: says Rust {said}; Cargo.toml says {found[1]}"
        if name.endswith("Cargo.toml") and name != "Cargo.toml" and re.search(r"^rust-version *=", text, re.M):
            yield f"{name}: has a rust-version of its own; write rust-version.workspace = true"


def repository_address(tree):
    """`repository` in Cargo.toml is the one source; every link to the repository begins with it. A page can't take it from there."""
    found = re.search(r'^repository = "https://([^/"]+)/([^"]+)"', tree.files["Cargo.toml"], re.M)
    if not found:
        yield "Cargo.toml: has no repository"
        return
    host, path = found.groups()
    raw = host.replace("github.com", "raw.githubusercontent.com")
    for name, text in tree.texts():
        if name == "tests/house/self_test.py":
            continue
        for said in re.finditer(r"(?:https?://|git@|ssh://git@)([\w.-]+)[/:]([\w.-]+/agentjob)(?![\w-])", text):
            # An index of packages is no repository.
            if said[1] != "pypi.org" and (said[1] not in (host, raw) or said[2] != path):
                yield f"{name}:{line_of(text, said.start())}: {said[0]}; Cargo.toml says https://{host}/{path}"
        if name.endswith("Cargo.toml") and name != "Cargo.toml" and re.search(r"^repository *=", text, re.M):
            yield f"{name}: has a repository of its own; write repository.workspace = true"


def lock_files(tree):
    """A workspace of the tests' own locks what our crates need. Otherwise `cargo --locked` refuses it, and no part of `make test` would say so."""
    needed = {}
    version = re.search(r'^version = "(.*)"', tree.files["Cargo.toml"], re.M)
    for name, manifest in tree.texts():
        if found := name.endswith("Cargo.toml") and re.search(r'^\[package\]\nname = "(agentjob-[\w-]+)"', manifest, re.M):
            sections = re.findall(r"^\[(?:target\..*\.)?dependencies\]\n((?:(?!\[).*\n?)*)", manifest, re.M)
            lines = [line for section in sections for line in section.splitlines() if "optional = true" not in line]
            if "\nversion.workspace = true" in manifest:
                needed[found[1]] = {line[1] for line in map(re.compile(r"([\w-]+)(?:\.workspace)? *=").match, lines) if line}
    for name, lock in tree.texts():
        if not name.endswith("/Cargo.lock"):
            continue
        remedy = f"cargo update --workspace --manifest-path {name[: -len('lock')]}toml"
        for crate, locked, listed in re.findall(r'name = "(agentjob-[\w-]+)"\nversion = "(.*)"\n(?:dependencies = \[\n((?: .*\n)*))?', lock):
            for dependency in sorted(needed.get(crate, set()) - set(re.findall(r'^ "([\w-]+)', listed, re.M))):
                yield f"{name}: lacks {dependency}, which {crate} needs; {remedy}"
            if crate in needed and version and locked != version[1]:
                yield f"{name}: has {crate} {locked}; Cargo.toml says {version[1]}; {remedy}"
