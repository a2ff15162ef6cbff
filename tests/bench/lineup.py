"""The entrants of the race, and the commands that they read.

An entrant is a program, started with the service's URL and its key; over TLS with two more files: the authority to trust, and
a bundle of it and the platform's, for entrants that take only one file. It reads a command a line on standard input, and prints
a line for each:

    send N          N messages over one kept connection             nanoseconds of each
    new N           N times: a client of its own, its first message  nanoseconds of each
    hold N          as new, and the clients stay open
    prompt BYTES    sets the length of the prompt                    0
    threads T N     T threads on one client, N messages each         nanoseconds, and nanoseconds of processor time
"""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
FLOOR = "raw socket"
#: name: (language, ours, the program below the build folder or the class in entrant.py)
ENTRANTS = {
    "raw socket": ("Rust", False, "rust/raw"),
    "agentjob core": ("Rust", True, "rust/core"),
    "reqwest": ("Rust", False, "rust/reqwest"),
    "ureq": ("Rust", False, "rust/ureq_stock"),
    "agentjob C": ("C", True, "c/agentjob"),
    "libcurl": ("C", False, "c/libcurl"),
    "agentjob Python": ("Python", True, "agentjob"),
    "pycurl": ("Python", False, "pycurl"),
    "http.client": ("Python", False, "http_client"),
    "urllib3": ("Python", False, "urllib3"),
    "aiohttp": ("Python", False, "aiohttp"),
    "httpx": ("Python", False, "httpx"),
    "requests": ("Python", False, "requests"),
    "niquests": ("Python", False, "niquests"),
}
OURS = [name for name, (_, ours, _) in ENTRANTS.items() if ours]


class Lineup:
    """The entrants that can run, and in `skipped` why the others cannot."""

    def __init__(self, build, python, niquests):
        self.commands, self.skipped = {}, []
        self.interpreters = {"niquests": niquests}
        self.python = python
        for name, (language, _, program) in ENTRANTS.items():
            if language != "Python":
                program = build / program
                if program.exists():
                    self.commands[name] = [str(program)]
                else:
                    self.skip(name, f"{program.relative_to(build)} was not built")
            else:
                interpreter = self.interpreter(name)
                asked = [interpreter, "-c", f"import {'http.client' if program == 'http_client' else program}"]
                if shutil.which(interpreter) and subprocess.run(asked, capture_output=True).returncode == 0:
                    self.commands[name] = [interpreter, str(HERE / "entrant.py"), program]
                else:
                    self.skip(name, "it is not installed")
        # A whole Python program without any message.
        self.bare = [python, str(HERE / "entrant.py"), "bare"]

    def interpreter(self, name):
        return self.interpreters.get(name, self.python)

    def skip(self, name, why):
        self.skipped.append(f"{name}: {why}")
        print(f"SKIPPED: {name}: {why}", file=sys.stderr, flush=True)


class Entrant:
    """A running entrant."""

    def __init__(self, name, command, arguments):
        self.name = name
        self.process = subprocess.Popen([*command, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        reply = self.process.stdout.readline()
        if not reply:
            sys.exit(f"{self.name} ended with {self.process.wait()} after {line!r}")
        return [int(word) for word in reply.split()]

    def memory(self, field="VmRSS"):
        """A field of its /proc status, in bytes."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
        raise KeyError(field)

    def forget_peak(self):
        """Resets VmHWM, the peak of its memory."""
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def close(self):
        self.process.stdin.close()
        if self.process.wait(60) != 0:
            sys.exit(f"{self.name} ended with {self.process.returncode}")
        self.process.stdout.close()


class Entrants(dict):
    """All entrants of a line-up, started against one service. They end with the block."""

    def __init__(self, lineup, arguments, names=None):
        super().__init__({name: Entrant(name, lineup.commands[name], arguments) for name in names or lineup.commands})

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for entrant in self.values():
            entrant.close() if kind is None else entrant.process.kill()


def turns(names, rounds, warm=1):
    """The order of every round: it rotates, so no entrant always follows the same one. The first rounds are the warm-up."""
    names = list(names)
    for number in range(rounds + warm):
        yield number >= warm, names[number % len(names) :] + names[: number % len(names)]
