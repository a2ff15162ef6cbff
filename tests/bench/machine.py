"""The machine and the versions of a race."""

import datetime
import json
import os
import pathlib
import platform
import re
import sqlite3
import subprocess

PACKAGES = """
import json
from importlib import metadata
print(json.dumps({one.metadata["Name"]: one.version for one in metadata.distributions()}))
"""
PYTHON_PEERS = ("pycurl", "urllib3", "aiohttp", "httpx", "requests", "niquests", "urllib3-future", "psycopg", "dbos")
RUST_PEERS = ("reqwest", "hyper", "ureq", "rustls", "ring", "aws-lc-rs")


def today():
    return datetime.date.today().isoformat()


def describe(setting):
    versions = {
        "Python": platform.python_version(),
        "rustc": first_line("rustc", "--version"),
        "libcurl": first_line("curl-config", "--version"),
        "SQLite": sqlite3.sqlite_version,
        "PostgreSQL": first_line("psql", "--version").removeprefix("psql (PostgreSQL)").strip(),
    }
    for interpreter in (setting.lineup.python, setting.lineup.interpreter("niquests")):
        found = subprocess.run([interpreter, "-c", PACKAGES], capture_output=True, text=True)
        packages = json.loads(found.stdout) if found.returncode == 0 else {}
        versions.update({name: packages[name] for name in PYTHON_PEERS if name in packages})
    lock = (pathlib.Path(__file__).parent / "rust/Cargo.lock").read_text()
    versions.update(
        {name: version for name, version in re.findall(r'name = "(.+)"\nversion = "(.+)"', lock) if name in RUST_PEERS}
    )
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "kernel": f"{platform.system()} {platform.release()}",
        "c_library": " ".join(platform.libc_ver()),
        "versions": versions,
    }


def processor():
    """The name in /proc/cpuinfo, with the clock rate."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    name = re.search(r"model name\s*: (.+)", text)
    model = re.search(r"model\s*: (.+)", text)
    return f"{name[1] if name else platform.machine()}" + (f", model {model[1]}" if model else "")


def first_line(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.split("\n")[0].strip() or "unknown"
    except OSError:
        return "unknown"
