#!/usr/bin/env python3
"""The language gallery: runs every vector through the C ABI from each language that this machine can run.

    gallery.py --emulator target/debug/agentjob-emulator --library target/release/libagentjob.so --build build/gallery

It installs missing runtimes: with apt-get if it runs as root, koffi with npm below --build. A language that cannot be installed or
run is reported as SKIPPED, with the reason. A driver that does not compile or does not pass is a failure, and so is an empty
gallery. --no-install installs nothing. Arguments after the options select languages.
"""

import argparse
import os
import pathlib
import platform
import re
import shlex
import shutil
import subprocess
import sys
from typing import Callable, NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
VECTORS = HERE.parent / "vectors" / "run.py"
JNA = "/usr/share/java/jna.jar"  # Debian's path
COMMAND_SECONDS = 600


class Missing(Exception):
    """Why a language cannot run on this machine."""


class Language(NamedTuple):
    name: str
    packages: list  # the packages of Debian
    probe: list  # a command that prints the version, and fails if the runtime or its FFI is missing
    driver: Callable  # takes the build directory, returns the driver's command
    prepare: Callable = lambda build, library: None  # raises Missing if something cannot be installed, CalledProcessError if it is broken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", required=True, help="the emulator's command, built with its tls feature")
    parser.add_argument("--library", required=True, type=pathlib.Path, help="libagentjob.so")
    parser.add_argument("--build", required=True, type=pathlib.Path, help="a directory for the output")
    parser.add_argument("--no-install", action="store_true", help="install nothing")
    parser.add_argument("languages", nargs="*", metavar="language", help="all by default")
    options = parser.parse_args()
    unknown = set(options.languages) - {language.name for language in LANGUAGES}
    if unknown:
        parser.error(f"no driver for {', '.join(sorted(unknown))}")
    build, library = options.build.resolve(), options.library.resolve()
    build.mkdir(parents=True, exist_ok=True)

    drivers, skipped, broken = [], [], []
    for language in LANGUAGES:
        if options.languages and language.name not in options.languages:
            continue
        try:
            version = installed(language, options.no_install)
            language.prepare(build, library)
            print(f"{language.name}: {version}", flush=True)
            drivers.append("--driver={}={}".format(language.name, shlex.join(command(language, build, library))))
        except Missing as missing:
            skipped.append(f"SKIPPED {language.name}: {missing}")
            print(skipped[-1], flush=True)
        except subprocess.CalledProcessError as error:
            broken.append(f"FAILED {language.name}: {reason(error)}")
            print(error.stdout, broken[-1], sep="\n", flush=True)

    status = 1
    if drivers:
        status = subprocess.run([sys.executable, VECTORS, "--emulator", options.emulator, *drivers]).returncode
    for line in skipped + broken:
        print(line)
    print(f"gallery: {len(drivers)} languages ran, {len(skipped)} skipped, {len(broken)} broken")
    return 1 if broken else status


def installed(language, no_install):
    """Installs what the language needs; returns the output of its probe."""
    try:
        version = probed(language)
    except Missing as missing:
        if no_install:
            raise Missing(f"{missing} (Debian: {' '.join(language.packages)})") from None
        install(language.packages)
        version = probed(language)
    return version


def probed(language):
    try:
        return (run(language.probe).strip().splitlines() or ["installed"])[0]
    except FileNotFoundError:
        raise Missing(f"{language.probe[0]} is not installed") from None
    except subprocess.CalledProcessError as error:
        raise Missing(f"{shlex.join(language.probe)}: {reason(error)}") from None


def install(packages):
    wanted = " ".join(packages)
    if shutil.which("apt-get") is None:
        raise Missing(f"not installed, and no apt-get to install {wanted}")
    if os.geteuid() != 0:
        raise Missing(f"not installed; as root: apt-get install {wanted}")
    apt_install = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        try:
            run(apt_install, env=environment)
        except subprocess.CalledProcessError:  # the package lists may be old or missing
            run(["apt-get", "update"], env=environment)
            run(apt_install, env=environment)
    except subprocess.CalledProcessError as error:
        raise Missing(f"apt-get install {wanted}: {reason(error)}") from None


def run(arguments, **options):
    """Runs a command and returns its output."""
    try:
        done = subprocess.run(
            [str(part) for part in arguments], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", timeout=COMMAND_SECONDS, **options,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Missing(f"{arguments[0]} did not end within {COMMAND_SECONDS} s") from None
    return done.stdout


def reason(error):
    """The reason of a failed command, in one line."""
    lines = [line.strip() for line in error.stdout.splitlines() if line.strip()]
    telling = [line for line in lines if re.search(r"^E: |\berror\b", line, re.IGNORECASE)]
    return (telling or lines[-1:] or [f"it ended with {error.returncode}"])[0]


def command(language, build, library):
    """The driver's command. run.py removes AGENTJOB_ variables from the environment, so this one is part of the command."""
    return [str(part) for part in ["env", f"AGENTJOB_LIBRARY={library}", *language.driver(build)]]


def npm_install(build, library):
    """Installs koffi below the build directory, in the version of package-lock.json, checked by its hash."""
    home = build / "node"
    home.mkdir(exist_ok=True)
    if (home / "node_modules").exists() and same(home / "package-lock.json", HERE / "node/package-lock.json"):
        return
    if shutil.which("npm") is None:
        raise Missing("npm is not installed, and koffi comes from there")
    shutil.copy(HERE / "node/package.json", home)
    try:
        # koffi needs no install script: its compiled part is a separate package.
        lock = shutil.copy(HERE / "node/package-lock.json", home)
        run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=home)
    except subprocess.CalledProcessError as error:
        os.remove(lock)  # so the next run starts again
        raise Missing(f"npm ci: {reason(error)}") from None


def same(one, other):
    return one.exists() and one.read_bytes() == other.read_bytes()


def compile_java(build, library):
    run(["javac", "-Xlint:all", "-Werror", "-cp", JNA, "-d", build / "java", *sorted(HERE.glob("java/*.java"))])


def compile_csharp(build, library):
    run(["mcs", "-warnaserror", f"-out:{build / 'driver.exe'}", *sorted(HERE.glob("csharp/*.cs"))])


def guile(build):
    return ["env", f"XDG_CACHE_HOME={build}", "guile", "-L", HERE / "guile", HERE / "guile/driver.scm"]


def compile_guile(build, library):
    """Guile compiles a program when it first runs, and prints that. It does so here, with no input."""
    run(["env", f"AGENTJOB_LIBRARY={library}", *guile(build)])


def linux_64(build, library):
    """The timer behind `cancel_after` is declared only for this platform."""
    if sys.platform != "linux" or platform.architecture()[0] != "64bit":
        raise Missing("its driver's timer is declared for 64-bit Linux only")


LANGUAGES = [
    Language(
        "ctypes", ["python3"],
        [sys.executable, "-c", "import ctypes, platform; print('Python', platform.python_version(), 'ctypes', ctypes.__version__)"],
        lambda build: [sys.executable, HERE / "ctypes/driver.py"],
    ),
    Language(
        "node", ["nodejs", "npm"],
        ["node", "-p", "'Node ' + process.version"],
        lambda build: ["env", f"NODE_PATH={build}/node/node_modules", "node", HERE / "node/driver.js"],
        npm_install,
    ),
    Language(
        "ruby", ["ruby"],
        ["ruby", "-rfiddle/import", "-rjson", "-e", "puts \"Ruby #{RUBY_VERSION}, fiddle #{Fiddle::VERSION}\""],
        lambda build: ["ruby", HERE / "ruby/driver.rb"],
    ),
    Language(
        "luajit", ["luajit"],
        ["luajit", "-e", "require 'ffi' print(jit.version)"],
        lambda build: ["luajit", HERE / "luajit/driver.lua"],
        linux_64,
    ),
    Language(
        "perl", ["perl", "libffi-platypus-perl"],
        ["perl", "-Mthreads", "-MJSON::PP", "-e", "use FFI::Platypus 2.00; print \"Perl $^V, FFI::Platypus $FFI::Platypus::VERSION\""],
        lambda build: ["perl", HERE / "perl/driver.pl"],
    ),
    Language(
        "php", ["php-cli"],
        ["php", "-r", "FFI::cdef(''); echo 'PHP ', PHP_VERSION;"],
        lambda build: ["php", HERE / "php/driver.php"],
        linux_64,
    ),
    Language(
        "java", ["default-jdk-headless", "libjna-java"],
        ["sh", "-c", f"test -f {JNA} && javac --release 17 -version && java -cp {JNA} com.sun.jna.Native | head -n 1"],
        lambda build: ["java", "-cp", f"{build}/java:{JNA}", "Driver"],
        compile_java,
    ),
    Language(
        "guile", ["guile-3.0"],
        ["guile", "-c", "(use-modules (system foreign-library) (ice-9 threads)) (display (string-append \"Guile \" (version)))"],
        guile,
        compile_guile,
    ),
    Language(
        "csharp", ["mono-mcs", "mono-runtime"],
        ["sh", "-c", "mcs --version >/dev/null && mono --version"],
        lambda build: ["mono", build / "driver.exe"],
        compile_csharp,
    ),
]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
