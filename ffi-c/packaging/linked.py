"""Which crates are in what ships. cargo says it for one build: its features, without macros, build tools and tests. What a compiled
file itself says is less (it names a crate only where it may panic), but can't be wrong."""

import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: The platforms that wheels are built for; deny.toml has the same ones.
PLATFORMS = re.findall(r'^    "((?:x86_64|aarch64)-[\w-]+)",$', (ROOT / "deny.toml").read_text("utf-8"), re.M)
#: The crates that the standard library brings along, as notices-head.txt names them.
IN_STD = set("addr2line adler2 cfg-if foldhash gimli hashbrown libc memchr miniz_oxide object rustc-demangle".split())


#: What else is in it.
STD = set("alloc compiler_builtins core panic_unwind rustc_std_workspace_alloc rustc_std_workspace_core std std_detect unwind".split())


def cargo(*arguments):
    done = subprocess.run([os.environ.get("CARGO", "cargo"), *arguments, "--locked"], cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"cargo {arguments[0]} failed; its message is above")
    return done.stdout


def linked(crate, platform):
    """What is linked into this crate of ours, itself included: {(name, version): those that it uses itself}."""
    about = ("--package", crate, "--target", platform, "--edges", "normal,no-proc-macro")
    uses, above = {}, []
    for line in cargo("tree", *about, "--prefix", "depth", "--no-dedupe", "--format", " {p}").splitlines():
        depth, name, version = line.split()[:3]
        part = (name, version[len("v") :])
        uses.setdefault(part, set())
        del above[int(depth) :]
        if above:
            uses[above[-1]].add(part)
        above.append(part)
    return uses


def packages(platforms):
    """What cargo knows about each crate that one of these platforms needs: {(name, version): its package}."""
    filters = [argument for platform in platforms for argument in ("--filter-platform", platform)]
    known = json.loads(cargo("metadata", "--format-version", "1", *filters))["packages"]
    return {(package["name"], package["version"]): package for package in known}


def objects_in(archive):
    """The crates whose objects are in a static library that was built without optimization at link time, as rustc spells their names."""
    listed = subprocess.run(["ar", "t", archive], check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
    return set(re.findall(r"^(\w+)[-.].*\.rcgu\.o$", listed, re.M))


def named_in(binary):
    """The crates that a library or program names: (name, version) of each, and the names of those in the standard library."""
    found = re.findall(rb"/registry/src/[^/\s]+/([\w-]+?)-(\d[\w.+-]*)/", binary)
    in_std = re.findall(rb"/rust/deps/([\w-]+?)-\d", binary)
    return {(name.decode(), version.decode()) for name, version in found}, {name.decode() for name in in_std}
