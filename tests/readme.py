#!/usr/bin/env python3
"""Runs the README's examples, exactly as they are printed, in an empty folder against the emulator.

    readme.py --python build/venv/bin/python --emulator target/debug/agentjob-emulator --target target
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = {"work_ms": 300, "jobs": [{"id": "job_123", "status": "completed"}]}


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.S)


def shell_block(text):
    """The shell block that contains this text."""
    return next(block for block in blocks("sh") if text in block)


def profile():
    """The workspace's profile for tests: with it cargo reuses the dependencies that are already built."""
    return re.search(r"^\[profile\.dev\]\n(?:\w.*\n)*", (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.M)[0]


def run(name, command, folder, environment, expected):
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    good = done.returncode == 0 and expected in done.stdout
    print(f"{'ok    ' if good else 'FAILED'} {name}")
    if not good:
        print(f"  exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--emulator", required=True)
    parser.add_argument("--target", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "emulator.json").write_text(json.dumps(SCRIPT))
        command = [options.emulator, "--config", str(folder / "emulator.json"), "--until-stdin-closes"]
        emulator = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            results = examples(options, json.loads(emulator.stdout.readline()), folder)
        finally:
            emulator.stdin.close()
            emulator.wait(20)
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return 0 if results and all(results) else 1


def examples(options, service, folder):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AGENTJOB_")}
    environment.update(
        AGENTJOB_BASE_URL=service["base_url"], AGENTJOB_API_KEY=service["api_key"], AGENTJOB_PROJECT_ID=service["project_id"]
    )
    target = pathlib.Path(options.target).resolve()
    results = []

    # The last Python example starts its own emulator and prints nothing.
    printed = ["completed https://", "['completed', 'completed']", "3 accepted completed", ""]
    assert len(blocks("python")) == len(printed), "each Python example of the README has its output here"
    for example, expected in zip(blocks("python"), printed):
        results.append(run("Python", [options.python, "-c", example], folder, environment, expected))

    (folder / "follow_up.c").write_text(blocks("c")[0])
    (folder / "follow_up.cpp").write_text(blocks("cpp")[0])
    (folder / "ffi-c").symlink_to(ROOT / "ffi-c")
    building = dict(environment, CARGO_TARGET_DIR=str(target), LD_LIBRARY_PATH=str(folder / "dist" / "lib"))
    programs = ["follow_up", "follow_up_cpp"]
    results.append(run("C and C++, installed and compiled", ["sh", "-ec", shell_block("make -C ffi-c install")], folder, building, ""))
    if shutil.which("pkg-config"):
        results.append(run("C, with pkg-config", ["sh", "-ec", shell_block("PKG_CONFIG_PATH")], folder, building, ""))
        programs += ["follow_up_shared", "follow_up_static"]
    else:
        print("SKIPPED: C with pkg-config, which is not installed")
    for program in programs:
        results.append(run(f"./{program}", [f"./{program}"], folder, building, '"status":"completed"'))
    if shutil.which("cmake"):
        (folder / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.13)\nproject(readme C)\nadd_executable(follow_up follow_up.c)\n" + blocks("cmake")[0]
        )
        command = "cmake -S . -B cmake -DCMAKE_PREFIX_PATH=$PWD/dist && cmake --build cmake && cmake/follow_up"
        results.append(run("C, with CMake", ["sh", "-ec", command], folder, building, '"status":"completed"'))
    else:
        print("SKIPPED: C with CMake, which is not installed")

    project = folder / "rust"
    (project / "src").mkdir(parents=True)
    (project / "src" / "main.rs").write_text(blocks("rust")[0])
    (project / "Cargo.toml").write_text(
        f'[package]\nname = "readme"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n'
        f'agentjob-core = {{ path = {json.dumps(str(ROOT / "core"))} }}\n[workspace]\n{profile()}'
    )
    (project / "Cargo.lock").write_text((ROOT / "Cargo.lock").read_text())
    command = ["cargo", "run", "--quiet", "--offline", "--target-dir", str(target)]
    results.append(run("Rust", command, project, environment, "completed Some("))

    shell = dict(environment, PATH=os.path.dirname(os.path.abspath(options.python)) + os.pathsep + environment["PATH"])
    batch = shell_block("agentjob send-all")
    reported_again = '"job_id":"job_gone","delivery":"rejected"'
    results.append(run("a batch", ["sh", "-ec", batch], folder, shell, reported_again))
    for block in blocks("sh"):
        for line in block.splitlines() if block != batch else []:
            command = line.split("#")[0].strip()
            if command.startswith("agentjob ") and command.split()[1] not in ("emulator",):
                results.append(run(command, shlex.split(command), folder, shell, '"status"'))
    return results


if __name__ == "__main__":
    sys.exit(main())
