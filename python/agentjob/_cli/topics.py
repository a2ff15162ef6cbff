"""`agentjob help`: the help of a command, and of the settings that all commands have."""

from . import exit, suggest
from .flags import SETTINGS_GROUPS
from .help import SETTINGS, WAITS


def page(top, words, refuse):
    """The text of a topic. `refuse` reports a word that is none."""
    if words == ["settings"]:
        # A command that has all of them.
        flags = suggest.commands_of(top)["send"].format_groups(SETTINGS_GROUPS)
        return "\n".join([SETTINGS, WAITS, "flags of the commands that use the service (--max-retries not of batch):\n" + flags, exit.help_for("send")])
    parser = top
    for n, word in enumerate(words):
        commands = suggest.commands_of(parser)
        if word not in commands:
            names = [*commands, "settings"] if n == 0 else commands
            refuse(f"there is no help for {' '.join(words[: n + 1])}{suggest.nearest(word, names)}")
        parser = commands[word]
    return parser.format_help()
