"""Commands and flags that do not exist, and the nearest one that does: the same on every Python, whose argparse differs."""

import argparse


def check(parser, words):
    """Refuses the first command or flag that does not exist."""
    while True:
        commands = commands_of(parser)
        if not commands or not words or words[0].startswith("-"):
            break
        if words[0] not in commands:
            parser.error(f"there is no command {words[0]}{nearest(words[0], commands)}")
        parser, words = commands[words[0]], words[1:]
    flags = parser._option_string_actions
    for word in words:
        if word == "--":
            break
        name = word.partition("=")[0]
        # What has a space is a prompt for argparse, too.
        if word.startswith("--") and " " not in word and name not in flags:
            begins = "; put -- before a prompt that begins with it" if "prompt" in destinations(parser) else ""
            parser.error(f"there is no flag {name}{nearest(name, flags) or begins}")


def commands_of(parser):
    """The parsers of a parser's commands, by their names."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def destinations(parser):
    return [action.dest for action in parser._actions]


def nearest(word, names):
    """The end of a sentence about a word that is none of these names."""
    import difflib

    close = difflib.get_close_matches(word, names, 1)
    return f"; did you mean {close[0]}?" if close else ""
