"""Every command of the command line with its parser, for its manual page and for its entry in the site."""

import argparse
import re
import subprocess
import sys

from agentjob._cli.arguments import parser
from agentjob._cli.help import COMMANDS
from agentjob._cli.suggest import commands_of


def commands(name="agentjob", command=None):
    """The commands by name, such as "agentjob batch run", each before the commands that it has."""
    command = command or parser()
    yield name, emulator_parser() if name == "agentjob emulator" else command
    for sub, inner in commands_of(command).items():
        yield from commands(f"{name} {sub}", inner)


def emulator_help():
    return subprocess.run([sys.executable, "-m", "agentjob", "emulator", "--help"], capture_output=True, text=True, check=True).stdout


def emulator_parser():
    """A parser with the flags of the emulator's own program, which has no argparse, as its help lists them."""
    usage, about, flags = emulator_help().removeprefix("Usage: ").split("\n\n")
    made = argparse.ArgumentParser(prog="agentjob emulator", usage=usage, description=f"{first_upper(COMMANDS['emulator'])}. {about}")
    for flag, metavar, help in re.findall(r"^  (--[\w-]+)(?: ([A-Z]+))? {2,}(.+)$", flags, re.M):
        made.add_argument(flag, help=help, **({"metavar": metavar} if metavar else {"action": "store_true"}))
    return made


def first_upper(text):
    return text[:1].upper() + text[1:]
