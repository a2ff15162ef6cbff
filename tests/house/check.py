#!/usr/bin/env python3
"""Reads the sources and names what breaks the rules of this repository.

    check.py      checks every rule below; exit status 1 if one is broken

self_test.py beside this file feeds each rule inputs that it must refuse.

The rules: no file imports itself through others; the arrows of rules.py are never drawn; docs/architecture.md shows every room and nothing that is
not there; comments and pages cite only what a clone has, and links lead somewhere; no file is too long; some words stay away; one
Rust version and one address of the repository are said everywhere; and lock files have what our crates need.
"""

import pathlib
import re
import subprocess
import sys

import text
from imports import circles, python_imports, rust_code, rust_imports
from rules import CRATES, FORBIDDEN_DEPENDENCIES, FORBIDDEN_IMPORTS, IMPURE, PACKAGES, PURE

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tree:
    """The files of a clone, by their names from the top; None where a file holds no text."""

    def __init__(self, files):
        self.files = files

    @classmethod
    def of(cls, root):
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True
        )
        if listed.returncode == 0:
            names = listed.stdout.split("\0")
        else:  # an unpacked archive
            names = [str(path.relative_to(root)) for path in root.rglob("*")]
            names = [name for name in names if not re.match(r"(.*/)?(target|build|node_modules|__pycache__|\.\w+)/", name)]
        return cls({name: read(root / name) for name in names if (root / name).is_file()})

    def texts(self):
        return [(name, text) for name, text in self.files.items() if text is not None]

    def folders(self):
        return {str(parent) for name in self.files for parent in pathlib.PurePosixPath(name).parents}

    def below(self, folder, suffix):
        """The texts of a folder's files, by their names below it."""
        start = folder + "/"
        return {name[len(start) :]: text for name, text in self.texts() if name.startswith(start) and name.endswith(suffix)}


def read(path):
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None


def import_graphs(tree):
    """For each crate and package, the files that each of its files imports, by names from the top."""
    for crate in CRATES:
        files = {name: code for name, code in tree.below(f"{crate}/src", ".rs").items() if not name.endswith("tests.rs")}
        yield from_the_top(rust_imports(files), f"{crate}/src")
    for folder, package in PACKAGES.items():
        yield from_the_top(python_imports(tree.below(folder, ".py"), package), folder)


def from_the_top(imports, folder):
    return {f"{folder}/{name}": {f"{folder}/{other}" for other in others} for name, others in imports.items()}


def mutual_imports(tree):
    for imports in import_graphs(tree):
        for name, others in sorted(imports.items()):
            for other in sorted(others):
                if name < other and name in imports.get(other, ()):
                    yield f"{name} and {other} import each other"


def longer_circles(tree):
    for imports in import_graphs(tree):
        for group in circles(imports):
            if len(group) > 2:
                yield "these files import each other in a circle: " + " ".join(group)


def arrows(tree):
    for crate, (forbidden, why) in FORBIDDEN_DEPENDENCIES.items():
        manifest = tree.files.get(f"{crate}/Cargo.toml") or ""
        for name in forbidden:
            if re.search(rf"^{name}\b", manifest, re.M):
                yield f"{crate}/Cargo.toml: depends on {name}; {why}"
    for imports in import_graphs(tree):
        for name, others in sorted(imports.items()):
            for start, end, why in FORBIDDEN_IMPORTS:
                for other in sorted(others):
                    if name.startswith(start) and other.startswith(end):
                        yield f"{name}: imports {other}; {why}"
    for name, source in tree.texts():
        if name.startswith(tuple(PURE)) and name.endswith(".rs"):
            for found in sorted(set(IMPURE.findall(rust_code(source)))):
                yield f"{name}: uses {found}; this file decides, and takes times and facts as arguments"
    for path in PURE:
        if path.rstrip("/") not in tree.files and path.rstrip("/") not in tree.folders():
            yield f"tests/house/rules.py: PURE names {path}, which does not exist"


RULES = {
    "imports": mutual_imports,
    "circles": longer_circles,
    "arrows": arrows,
    "architecture": text.architecture,
    "citations": text.citations,
    "links": text.links,
    "length": text.long_files,
    "words": text.words,
    "Rust version": text.rust_version,
    "repository": text.repository_address,
    "lock files": text.lock_files,
}


def main():
    tree = Tree.of(ROOT)
    total = 0
    for name, rule in RULES.items():
        found = list(dict.fromkeys(rule(tree)))
        total += len(found)
        print(f"{'FAILED' if found else 'ok    '} {name}" + (f": {len(found)}" if found else ""))
        for line in found:
            print(f"  {line}")
    return 1 if total else 0


if __name__ == "__main__":
    sys.exit(main())
