"""Scripts that let a shell complete commands and flags, made from the tree of arguments."""

import shlex

from ._arguments import COMMANDS

BASH = """\
_agentjob() {{
    local words=
    COMPREPLY=()
    case ${{COMP_WORDS[COMP_CWORD-1]}} in {valued}) return ;; esac
    case $COMP_CWORD:${{COMP_WORDS[1]}} in
        1:*) words='{commands}' ;;
{cases}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _agentjob agentjob
"""

ZSH = """\
#compdef agentjob
_agentjob() {{
    local -a commands
    commands=({commands})
    if (( CURRENT == 2 )); then _describe command commands; return; fi
    shift words; (( CURRENT-- ))
    case $words[1] in
{cases}
    esac
}}
if [ "$funcstack[1]" = _agentjob ]; then _agentjob "$@"; else compdef _agentjob agentjob; fi
"""


def script(shell, parser):
    """The script for `bash`, `zsh` or `fish`."""
    return {"bash": bash, "zsh": zsh, "fish": fish}[shell](list(tree(parser)))


def tree(parser):
    """Each command: its name, its flags as (flag, help, value or None), and the words that it takes."""
    commands = next(action for action in parser._actions if action.dest == "command")
    for name, sub in commands.choices.items():
        flags = [(action.option_strings[-1], action.help, action.metavar) for action in sub._actions if action.option_strings]
        words = [word for action in sub._actions if not action.option_strings for word in action.choices or ()]
        yield name, flags, words


def bash(commands):
    valued = sorted({flag for _, flags, _ in commands for flag, _, value in flags if value})
    cases = []
    for name, flags, words in commands:
        cases.append(f"        *:{name}) words='{' '.join([*words, *(flag for flag, _, _ in flags)])}' ;;")
    return BASH.format(valued="|".join(valued), commands=" ".join(COMMANDS), cases="\n".join(cases))


def zsh(commands):
    cases = []
    for name, flags, words in commands:
        specs = [f"*:word:({' '.join(words)})"]
        for flag, help, value in flags:
            value = f":{value}:{'_files' if value == 'FILE' else ''}" if value else ""
            specs.append(f"{flag}[{help}]{value}")
        cases.append(f"        {name}) _arguments {shlex.join(specs)} ;;")
    commands = shlex.join(f"{name}:{help}" for name, help in COMMANDS.items())
    return ZSH.format(commands=commands, cases="\n".join(cases))


def fish(commands):
    lines = ["complete -c agentjob -f"]
    for name, flags, words in commands:
        lines.append(f"complete -c agentjob -n __fish_use_subcommand -a {name} -d {shlex.quote(COMMANDS[name])}")
        here = f"complete -c agentjob -n '__fish_seen_subcommand_from {name}'"
        for flag, help, value in flags:
            value = " -r -F" if value == "FILE" else " -x" if value else ""
            lines.append(f"{here} -l {flag[2:]} -d {shlex.quote(help)}{value}")
        if words:
            lines.append(f"{here} -a {shlex.quote(' '.join(words))}")
    return "\n".join(lines) + "\n"
