"""What a client weighs: import time, modules, resident memory, and bytes on disk."""

import json
import pathlib
import re
import subprocess
import sys

import figures
from lineup import ENTRANTS, Entrants, turns
from sections.warm import in_order
from service import emulator

TITLE = "Weight"
#: What a program imports to send a message, where it is not just the name.
IMPORTS = {"agentjob Python": "agentjob", "http.client": "http.client, json", "pycurl": "pycurl, json"}
IMPORT = """
import sys, time
def resident():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmRSS:"))
modules, memory, began = len(sys.modules), resident(), time.perf_counter_ns()
import %s
print(time.perf_counter_ns() - began, len(sys.modules) - modules, (resident() - memory) * 1024)
"""
CLOSURE = """
import json, re, sys
from importlib import metadata
def closure(name, seen):
    if name not in seen:
        seen.add(name)
        for line in metadata.requires(name) or []:
            if "extra ==" not in line and (";" not in line or "python_version" not in line and "sys_platform" not in line):
                other = re.match(r"[A-Za-z0-9_.-]+", line)[0]
                try: metadata.version(other)
                except metadata.PackageNotFoundError: continue
                closure(other, seen)
    return seen
print(json.dumps(sorted(closure(sys.argv[1], set()))))
"""
HELD = 20


def run(setting):
    return [*imports(setting), *memory(setting), *sizes(setting)]


def python_entrants(setting):
    return [name for name in setting.lineup.commands if ENTRANTS[name][0] == "Python"]


def imports(setting):
    took, modules, resident = {}, {}, {}
    for counts, order in turns(python_entrants(setting), setting.count(20, 3)):
        for name in order:
            command = [setting.lineup.interpreter(name), "-c", IMPORT % IMPORTS.get(name, name)]
            numbers = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
            if counts:
                for found, number, unit in zip((took, modules, resident), numbers, (1e6, 1, 1 << 20)):
                    found.setdefault(name, []).append(int(number) / unit)
    return [
        figures.table("Import", "ms", took, about="In a fresh interpreter, byte code cached. A run is one interpreter."),
        figures.table("Modules that an import loads", "modules", modules),
        figures.table("Memory that an import takes", "MiB", resident),
    ]


def memory(setting):
    """The whole process after one message, and what each further client with its connection adds."""
    rest, plain, secure = {}, {}, {}
    for tls, found in (False, plain), (True, secure):
        with emulator(setting.emulator, tls=tls) as arguments:
            for _, order in turns(setting.lineup.commands, setting.count(5, 2), warm=0):
                for name in order:
                    with Entrants(setting.lineup, arguments, [name]) as entrants:
                        entrants[name].ask("send 1")
                        if not tls:
                            rest.setdefault(name, []).append(entrants[name].memory() / (1 << 20))
                        entrants[name].ask("hold 5")
                        before = entrants[name].memory()
                        entrants[name].ask(f"hold {HELD}")
                        found.setdefault(name, []).append((entrants[name].memory() - before) / HELD / 1024)
    about = f"One more client in the same process, with a connection that sent a message; the mean of {HELD}."
    return [
        figures.table(
            "Memory of the process at rest, after one message",
            "MiB",
            in_order(rest, setting),
            about="Interpreter, libraries and all. A run is one process.",
        ),
        figures.table("Memory of a further client with its connection", "KiB", in_order(plain, setting), about=about),
        figures.table(
            "Memory of a further client with its connection, over TLS",
            "KiB",
            in_order(secure, setting),
            about=about + " Each client loads its own trust store, in the entrant's best usual way.",
        ),
    ]


def sizes(setting):
    """Bytes are the same in every run: one is enough."""
    libraries = {"agentjob C": [setting.library.stat().st_size / 1e6]}
    if "libcurl" in setting.lineup.commands:
        libraries["libcurl"] = [loaded(setting.lineup.commands["libcurl"][0]) / 1e6]
    wheels = {}
    for name in python_entrants(setting):
        size = wheel_bytes(setting, name)
        if size is not None:
            wheels[name] = [size / 1e6]
    rust = [name for name in setting.lineup.commands if ENTRANTS[name][0] == "Rust"]
    programs = {name: [pathlib.Path(setting.lineup.commands[name][0]).stat().st_size / 1e6] for name in rust}
    return [
        figures.table(
            "Shared library",
            "MB",
            libraries,
            about="libcurl with every library that it loads besides the C library. agentjob has TLS and everything else in one file.",
        ),
        figures.table(
            "Wheels",
            "MB",
            wheels,
            about="As downloaded, with all dependencies. http.client comes with Python; a pycurl wheel brings libcurl along.",
        ),
        figures.table("Rust program", "MB", programs, about="The stripped entrant of this race, built with fat LTO."),
    ]


def loaded(program):
    """The bytes of what a program loads besides the C library."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    files = re.findall(r"=> (/\S+)", listed)
    ours = [file for file in files if not re.search(r"/(libc|libm|libpthread|ld-linux\S*)\.so", file)]
    return sum(pathlib.Path(file).stat().st_size for file in ours)


def wheel_bytes(setting, name):
    if name == "http.client":
        return None
    distribution = IMPORTS.get(name, name).split(",")[0]
    command = [setting.lineup.interpreter(name), "-c", CLOSURE, distribution]
    found = subprocess.run(command, capture_output=True, text=True)
    if found.returncode != 0:
        sys.exit(found.stderr)
    total = 0
    for needed in json.loads(found.stdout):
        wheels = [
            wheel
            for folder in setting.wheels
            for wheel in folder.glob("*.whl")
            if normal(wheel.name.split("-")[0]) == normal(needed)
        ]
        if not wheels:
            return None
        total += wheels[0].stat().st_size
    return total


def normal(name):
    return re.sub(r"[-_.]+", "_", name).lower()
