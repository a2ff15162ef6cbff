#!/usr/bin/env python3
"""Runs every scenario through every driver: the same scenario must end the same way in every language.

    run.py --emulator target/debug/agentjob-emulator --driver rust=target/debug/agentjob-driver-rust ...

A driver is NAME=COMMAND. README.md beside this file says what a scenario holds.
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
import urllib.parse
import urllib.request

import scenarios

#: The drivers that do not use the C ABI.
WITHOUT_C_ABI = ("rust", "python")
#: How long a driver may take to exit, and to print one result. No scenario takes long; a stuck one must not block the rest.
EXIT_SECONDS = 60
RESULT_SECONDS = 120
#: The scenarios of a language are dealt out to this many drivers, because most scenarios wait more than they compute.
LANES = 4
#: How many drivers run at a time.
AT_A_TIME = 12
# What differs from run to run, whatever the language.
VOLATILE = [
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "<time>"),
    (re.compile(r"(?:after|in) \d+\.\d s \(([^()]|\([^()]*\))*\)"), "after <waited>"),
    (re.compile(r"Retry after \d+ s \([-\d:. ]+ UTC\)"), "Retry after <time>"),
]


class Emulator:
    """The emulator in its own process, reconfigured for each scenario."""

    def __init__(self, command, tls):
        flags = {False: [], True: ["--tls"], "mutual": ["--mutual-tls"]}[tls]
        arguments = shlex.split(command) + ["--until-stdin-closes"] + flags
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the emulator did not start: {' '.join(arguments)}")
        self.facts = json.loads(line)
        self.tls = tls
        # This script does not check the emulator's certificate; whether the clients do is what the scenarios test.
        context = ssl._create_unverified_context()
        if tls == "mutual":
            context.load_cert_chain(self.facts["client_cert"])
        trust = urllib.request.HTTPSHandler(context=context)
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), trust)

    def configure(self, config):
        request = urllib.request.Request(
            self.facts["base_url"] + "/_emulator/config", method="PUT", data=json.dumps(config).encode()
        )
        self.open(request)
        self.facts = dict(self.facts, job_id=(config.get("jobs") or [{"id": "job_demo"}])[0]["id"])

    def ask(self, what):
        return self.open(urllib.request.Request(self.facts["base_url"] + "/_emulator/" + what))

    def open(self, request):
        with self.opener.open(request, timeout=20) as response:
            return json.load(response)

    def stop(self):
        self.process.stdin.close()
        self.process.wait(20)


class Driver:
    """One language's driver: one process for many scenarios."""

    def __init__(self, name, command, environment):
        self.name = name
        self.command = shlex.split(command)
        self.environment = environment
        self.process = None
        self.crashed = 0

    def call(self, settings):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.environment
            )
        block = "".join(f"{key}={encoded(value)}\n" for key, value in settings.items()) + "\n"
        watchdog = threading.Timer(RESULT_SECONDS, self.process.kill)
        watchdog.start()
        try:
            self.process.stdin.write(block.encode())
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        finally:
            watchdog.cancel()
        if not line:
            status = self.process.wait(EXIT_SECONDS)
            self.process = None
            self.crashed = status or 1
            return {"crashed": status}
        return json.loads(line, parse_float=number)

    def stop(self):
        """The exit status of the driver; if one crashed before, that one's."""
        status = 0
        if self.process is not None:
            self.process.stdin.close()
            status = self.process.wait(EXIT_SECONDS)
            self.process.stdout.close()
            self.process = None
        return self.crashed or status

    def kill(self):
        """Kills the driver if it still runs."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def number(text):
    """JSON has one kind of number: 0 and 0.0 are the same."""
    return int(float(text)) if float(text).is_integer() else float(text)


def encoded(value):
    if isinstance(value, bool):
        value = "true" if value else "false"
    return urllib.parse.quote(str(value), safe="")


def matches(expected, seen, where=""):
    """What differs, a line each. A string that starts with ~ is a regular expression; a dict may leave keys out."""
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


def comparable(result, places):
    """The result as text, without what differs between runs and between the emulators of two drivers."""
    error = result.get("error")
    if error and error["kind"] in ("wait_timeout", "cancelled"):
        # How often a wait polled before it ended depends on milliseconds.
        result = {"error": dict(error, attempts="<some>")}
    text = json.dumps(result, sort_keys=True)
    for name, place in places.items():
        text = re.sub(rf"{re.escape(place)}(?!\d)", f"${name}", text)
    for pattern, placeholder in VOLATILE:
        text = pattern.sub(placeholder, text)
    return text


def nothing_listens():
    """A socket whose port refuses connections. It keeps the port: otherwise an emulator beside this one could get it."""
    kept = socket.socket()
    kept.bind(("127.0.0.1", 0))
    return kept


def settings_of(scenario, emulator, places):
    settings = {
        "base_url": emulator.facts["base_url"],
        "api_key": emulator.facts["api_key"],
        "project_id": emulator.facts["project_id"],
        "trust_env": False,
        "timeout": 10,
    }
    if emulator.tls:
        settings["ca_file"] = emulator.facts["ca_file"]
    settings.update(scenario.get("client", {}))
    settings.update(scenario["call"])
    for key, value in list(settings.items()):
        if value is None:
            del settings[key]
        elif isinstance(value, str):
            for name, place in places.items():
                settings[key] = settings[key].replace(f"${name}", place)
    return settings


def run_scenario(scenario, driver, emulator, places):
    emulator.configure(scenario.get("emulator", {}))
    began = time.monotonic()
    result = driver.call(settings_of(scenario, emulator, places))
    took = time.monotonic() - began
    wrong = matches(scenario["expect"], result)
    if "requests" in scenario:
        seen = emulator.ask("requests")["total"]
        if seen != scenario["requests"]:
            wrong.append(f"requests: expected {scenario['requests']}, the service saw {seen}")
    if "messages" in scenario:
        ledger = emulator.ask("ledger")["messages"]
        if len(ledger) != scenario["messages"]:
            wrong.append(f"messages: expected {scenario['messages']}, the ledger has {len(ledger)}")
        text = scenario["call"].get("prompt")
        if isinstance(text, str) and ledger and ledger[0]["prompt"] != text:
            wrong.append(f"prompt: sent {text!r}, the ledger has {ledger[0]['prompt']!r}")
    for name, value in scenario.get("headers", {}).items():
        for request in emulator.ask("requests")["requests"]:
            values = [text for field, text in request["headers"] if field.lower() == name.lower()]
            if matches([value], values):
                wrong.append(f"header {name}: expected {value!r} once, the service saw {values}")
    if took < scenario.get("at_least", 0):
        wrong.append(f"it took {took:.3f} s, less than {scenario['at_least']} s")
    return result, wrong


def run_lane(driver, chosen, options, folder):
    """Runs scenarios through one driver, with emulators and a folder of its own. Returns each result with what is wrong about it,
    and the driver's exit status."""
    emulators = {tls: Emulator(options.emulator, tls) for tls in (False, True, "mutual")}
    plain, over_tls, mutual = (emulator.facts for emulator in emulators.values())
    folder.mkdir()
    (folder / "key").write_text(plain["api_key"] + "\n")
    (folder / "key").chmod(0o600)
    mark = b"\xef\xbb\xbf"
    (folder / "marked key").write_bytes(mark + (folder / "key").read_bytes())
    (folder / "marked.pem").write_bytes(mark + pathlib.Path(mutual["client_cert"]).read_bytes())
    for name in ("marked key", "marked.pem"):
        (folder / name).chmod(0o600)
    (folder / "empty.pem").write_text("no certificate\n")
    (folder / "empty.pem").chmod(0o600)
    kept = nothing_listens()
    refused = str(kept.getsockname()[1])
    places = {
        "refused": f"http://127.0.0.1:{refused}",
        "base_url": plain["base_url"],
        "key_file": str(folder / "key"),
        "marked_key_file": str(folder / "marked key"),
        "marked_cert": str(folder / "marked.pem"),
        "empty_file": str(folder / "empty.pem"),
        "no_file": str(folder / "nothing"),
        "ca_file": over_tls["ca_file"],
        "client_cert": mutual["client_cert"],
        "port": plain["base_url"].rsplit(":", 1)[1],
    }
    # What else an error's message may name.
    known = {
        **places,
        "refused_port": refused,
        "tls_url": over_tls["base_url"],
        "tls_port": over_tls["base_url"].rsplit(":", 1)[1],
        "mutual_url": mutual["base_url"],
        "mutual_port": mutual["base_url"].rsplit(":", 1)[1],
    }
    results = []
    try:
        for scenario in chosen:
            through_c = driver.name not in WITHOUT_C_ABI
            if scenario.get("c_abi", through_c) != through_c:
                results.append((None, []))
                continue
            result, wrong = run_scenario(scenario, driver, emulators[scenario.get("tls", False)], places)
            results.append((comparable(result, known), wrong))
        return results, driver.stop()
    finally:
        driver.kill()
        kept.close()
        for emulator in emulators.values():
            emulator.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", required=True, help="the emulator's command, built with its tls feature")
    parser.add_argument("--driver", action="append", required=True, metavar="NAME=COMMAND")
    parser.add_argument("--only", help="only scenarios whose file/name contains this")
    parser.add_argument("--exactly", help="only the scenario of this name, file/name, also as a failure prints it: language: file/name")
    options = parser.parse_args()

    environment = {key: value for key, value in os.environ.items() if not key.startswith("AGENTJOB_")}
    drivers = [driver.split("=", 1) for driver in options.driver]
    chosen = scenarios.load(options.only)
    if options.exactly:
        names = (options.exactly, options.exactly.partition(": ")[2])
        chosen = [scenario for scenario in chosen if f"{scenario['file']}/{scenario['name']}" in names]
    if not chosen:
        parser.error("there is no such scenario; scenarios.py FILE prints those of a file")
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        lanes = [
            (name, lane, pool.submit(
                run_lane, Driver(name, command, environment), chosen[lane::LANES], options, pathlib.Path(scratch, f"{name}-{lane}")
            ))
            for name, command in drivers
            for lane in range(LANES)
        ]
        ended = {name: [None] * len(chosen) for name, _ in drivers}
        failures = []
        for name, lane, run in lanes:
            ended[name][lane::LANES], status = run.result()
            if status != 0:
                failures.append(f"{name}: the driver ended with {status}")

    passed = dict.fromkeys(ended, 0)
    without = dict(passed)  # scenarios that are not for this language
    # For each scenario, the first driver that runs it, which the others are compared with.
    first = [next((name for name in ended if ended[name][n][0] is not None), None) for n in range(len(chosen))]
    for name, results in ended.items():
        for n, (scenario, (result, wrong)) in enumerate(zip(chosen, results)):
            if result is None:
                without[name] += 1
                continue
            wanted, _ = ended[first[n]][n]
            if result != wanted:
                wrong.append(f"unlike {first[n]}:\n      {wanted[:900]}\n      {result[:900]}")
            if wrong:
                failures.append(f"{name}: {scenario['file']}/{scenario['name']}\n    " + "\n    ".join(wrong))
            else:
                passed[name] += 1

    width = max(len(name) for name in ["language", *passed]) + 2
    print(f"{'language':{width}}scenarios passed")
    for name, count in passed.items():
        print(f"{name:{width}}{count} of {len(chosen) - without[name]}")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{sum(passed.values())} passed, {len(failures)} failed")
    return 1 if failures or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
