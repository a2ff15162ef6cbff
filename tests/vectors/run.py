#!/usr/bin/env python3
"""Takes every vector through every driver: the same scenario must end the same way in every language.

    run.py --emulator target/debug/agentjob-emulator --driver rust=target/debug/agentjob-driver-rust ...

A driver is NAME=COMMAND. README.md beside this file says what a vector holds.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
#: How long a driver has for its end, and for one answer: no vector takes long, and none may keep the others from running.
DRIVER_SECONDS = 60
ANSWER_SECONDS = 120
#: How many drivers run at a time: most vectors wait more than they work.
AT_A_TIME = 4
# What differs from run to run and says nothing about the language.
VOLATILE = [
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<time>"),
    (re.compile(r"after \d+\.\d s \([^)]*(\([^)]*\)[^)]*)*\)"), "after <waited>"),
    (re.compile(r"Retry after \d+ s \([-\d:. ]+ UTC\)"), "Retry after <time>"),
]


class Emulator:
    """The emulator as a process of its own, given a new script for each run."""

    def __init__(self, command, tls):
        arguments = shlex.split(command) + ["--until-stdin-closes"] + (["--tls"] if tls else [])
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.says = json.loads(self.process.stdout.readline())
        self.tls = tls
        # This script trusts the emulator's certificate blindly: whether the clients do is what the vectors are for.
        trust = urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)

    def script(self, config):
        request = urllib.request.Request(
            self.says["base_url"] + "/_emulator/config", method="PUT", data=json.dumps(config).encode()
        )
        self.open(request)
        self.says = dict(self.says, job_id=(config.get("jobs") or [{"id": "job_demo"}])[0]["id"])

    def ask(self, what):
        return self.open(urllib.request.Request(self.says["base_url"] + "/_emulator/" + what))

    def open(self, request):
        with self.opener.open(request, timeout=20) as answer:
            return json.load(answer)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


class Driver:
    """One language's driver, kept running over all vectors."""

    def __init__(self, name, command, environment):
        self.name = name
        self.command = shlex.split(command)
        self.environment = environment
        self.process = None

    def call(self, settings):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment
            )
        block = "".join(f"{key}={encoded(value)}\n" for key, value in settings.items()) + "\n"
        ended = threading.Timer(ANSWER_SECONDS, self.process.kill)
        ended.start()
        try:
            self.process.stdin.write(block.encode())
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            ended.cancel()
        if not line:
            status = self.process.wait(DRIVER_SECONDS)
            self.process = None
            return {"crashed": status}
        return json.loads(line, parse_float=number)

    def stop(self):
        if self.process is not None:
            self.process.stdin.close()
            status = self.process.wait(DRIVER_SECONDS)
            self.process.stdout.close()
            self.process = None
            return status
        return 0

    def kill(self):
        """Ends it if it still runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def number(text):
    """JSON has one kind of number: 0 and 0.0 are the same."""
    return int(float(text)) if float(text).is_integer() else float(text)


def expanded(value):
    """Long texts are spelled {"repeat": "x", "times": 4}."""
    if isinstance(value, dict):
        if value.keys() == {"repeat", "times"}:
            return value["repeat"] * value["times"]
        return {key: expanded(inner) for key, inner in value.items()}
    return [expanded(inner) for inner in value] if isinstance(value, list) else value


def encoded(value):
    if isinstance(value, bool):
        value = "true" if value else "false"
    safe = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    return "".join(chr(b) if b in safe else f"%{b:02X}" for b in str(value).encode())


def matches(expected, seen, where=""):
    """What differs, as lines. A string that begins with ~ is a regular expression; a dict may leave keys out."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        return [line for key, value in expected.items() for line in matches(value, seen.get(key, "<missing>"), f"{where}.{key}")]
    if isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        return [line for n, value in enumerate(expected) for line in matches(value, seen[n], f"{where}[{n}]")]
    if isinstance(expected, str) and expected.startswith("~"):
        if isinstance(seen, str) and re.search(expected[1:], seen):
            return []
    elif expected == seen and isinstance(expected, bool) == isinstance(seen, bool):
        return []
    return [f"{where}: expected {json.dumps(expected)}, got {json.dumps(seen)[:400]}"]


def settled(answer, places):
    """The answer without what differs from run to run and from one driver's emulator to another's."""
    error = answer.get("error")
    if error and error["kind"] in ("wait_timeout", "cancelled"):
        # How often a wait could look before it ended is a matter of milliseconds.
        answer = {"error": dict(error, attempts="<some>")}
    text = json.dumps(answer, sort_keys=True)
    for name, place in places.items():
        text = re.sub(rf"{re.escape(place)}(?!\d)", f"${name}", text)
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text


def unused_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def settings_of(vector, emulator, places):
    settings = {
        "base_url": emulator.says["base_url"],
        "api_key": emulator.says["api_key"],
        "project_id": emulator.says["project_id"],
        "trust_env": False,
        "timeout": 10,
    }
    if emulator.tls:
        settings["ca_file"] = emulator.says["ca_file"]
    settings.update(vector.get("client", {}))
    settings.update(vector["call"])
    for key, value in list(settings.items()):
        if value is None:
            del settings[key]
        elif isinstance(value, str):
            for name, place in places.items():
                settings[key] = settings[key].replace(f"${name}", place)
    return settings


def run_vector(vector, driver, emulator, places):
    emulator.script(vector.get("emulator", {}))
    began = time.monotonic()
    answer = driver.call(settings_of(vector, emulator, places))
    took = time.monotonic() - began
    wrong = matches(vector["expect"], answer)
    if "requests" in vector:
        seen = emulator.ask("requests")["total"]
        if seen != vector["requests"]:
            wrong.append(f"requests: expected {vector['requests']}, the service saw {seen}")
    if "messages" in vector:
        ledger = emulator.ask("ledger")["messages"]
        if len(ledger) != vector["messages"]:
            wrong.append(f"messages: expected {vector['messages']}, the ledger has {len(ledger)}")
        text = vector["call"].get("prompt")
        if isinstance(text, str) and ledger and ledger[0]["prompt"] != text:
            wrong.append(f"prompt: sent {text!r}, the ledger has {ledger[0]['prompt']!r}")
    if took < vector.get("at_least", 0):
        wrong.append(f"it took {took:.3f} s, less than {vector['at_least']} s")
    return answer, wrong


def load(only):
    vectors = []
    for path in sorted(HERE.glob("*.json")):
        for vector in expanded(json.loads(path.read_text(encoding="utf-8"))):
            vector["file"] = path.stem
            if not only or only in f"{path.stem}/{vector['name']}":
                vectors.append(vector)
    names = [vector["name"] for vector in vectors]
    assert len(names) == len(set(names)), "two vectors have one name"
    return vectors


def run_all(driver, vectors, options, folder):
    """Takes all vectors through one driver, which has the service and a folder for itself. Returns what each ended with and what was
    wrong with it, and how the driver ended."""
    emulators = {tls: Emulator(options.emulator, tls) for tls in (False, True)}
    plain, over_tls = (emulators[tls].says for tls in (False, True))
    folder.mkdir()
    (folder / "key").write_text(plain["api_key"] + "\n")
    (folder / "key").chmod(0o600)
    (folder / "empty.pem").write_text("no certificate\n")
    refused = str(unused_port())
    places = {
        "refused": f"http://127.0.0.1:{refused}",
        "base_url": plain["base_url"],
        "key_file": str(folder / "key"),
        "empty_file": str(folder / "empty.pem"),
        "no_file": str(folder / "nothing"),
        "port": plain["base_url"].rsplit(":", 1)[1],
    }
    # What a sentence may name besides.
    known = {**places, "refused_port": refused, "tls_url": over_tls["base_url"], "tls_port": over_tls["base_url"].rsplit(":", 1)[1], "ca_file": over_tls["ca_file"]}
    results = []
    try:
        for vector in vectors:
            answer, wrong = run_vector(vector, driver, emulators[vector.get("tls", False)], places)
            results.append((settled(answer, known), wrong))
        return results, driver.stop()
    finally:
        driver.kill()
        for emulator in emulators.values():
            emulator.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", required=True, help="the emulator's command, built with its tls feature")
    parser.add_argument("--driver", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--only", help="only vectors whose file/name holds this")
    options = parser.parse_args()

    environment = {key: value for key, value in os.environ.items() if not key.startswith("AGENTJOB_")}
    drivers = [Driver(*driver.split("=", 1), environment) for driver in options.driver]
    vectors = load(options.only)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        ended = list(pool.map(lambda d: run_all(d, vectors, options, pathlib.Path(scratch, d.name)), drivers))

    passed = {driver.name: 0 for driver in drivers}
    failures = []
    first, (expected, _) = drivers[0], ended[0]
    for driver, (results, status) in zip(drivers, ended):
        for vector, (answer, wrong), (wanted, _) in zip(vectors, results, expected):
            if answer != wanted:
                wrong.append(f"unlike {first.name}:\n      {wanted[:900]}\n      {answer[:900]}")
            if wrong:
                failures.append(f"{driver.name}: {vector['file']}/{vector['name']}\n    " + "\n    ".join(wrong))
            else:
                passed[driver.name] += 1
        if status != 0:
            failures.append(f"{driver.name}: the driver ended with {status}")

    width = max(len(name) for name in ["language", *passed]) + 2
    print(f"{'language':{width}}vectors passed")
    for name, count in passed.items():
        print(f"{name:{width}}{count} of {len(vectors)}")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{sum(passed.values())} passed, {len(failures)} failed")
    return 1 if failures or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
