"""Scripts that let a shell complete commands and flags, made from the tree of arguments."""

import shlex

from ._arguments import COMMANDS

#: What stands for the name of a file.
FILES = ("FILE", "RUN")

BASH = """\
_agentjob() {{
    local words=
    COMPREPLY=()
    case ${{COMP_WORDS[COMP_CWORD-1]}} in {valued}) return ;; esac
    case $COMP_CWORD:${{COMP_WORDS[1]}} in
        1:*) words='{commands}' ;;
{cases}
    esac
    ((COMP_CWORD == 1)) || case ${{COMP_WORDS[COMP_CWORD-1]}}:${{COMP_WORDS[1]}}:${{COMP_WORDS[COMP_CWORD]}} in
{choices}
        *:-*) ;;
        {files}) return ;; # names of files
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
    """Each command: its name, its flags as (flag, help, value or None, its words), its own words, whether it takes a file."""
    commands = next(action for action in parser._actions if action.dest == "command")
    for name, sub in commands.choices.items():
        flags = [(a.option_strings[-1], a.help, a.metavar, a.choices or ()) for a in sub._actions if a.option_strings]
        given = [action for action in sub._actions if not action.option_strings]
        words = [word for action in given for word in action.choices or ()]
        yield name, flags, words, any(action.metavar in FILES for action in given)


def bash(commands):
    flags = [flag for _, flags, _, _ in commands for flag in flags]
    valued = sorted({flag for flag, _, value, words in flags if value and not words})
    choices = {flag: words for flag, _, _, words in flags if words}
    cases = []
    for name, flags, words, _ in commands:
        cases.append(f"        *:{name}) words='{' '.join([*words, *(flag for flag, _, _, _ in flags)])}' ;;")
    return BASH.format(
        valued="|".join(valued),
        commands=" ".join(COMMANDS),
        cases="\n".join(cases),
        files=" | ".join(f"*:{name}:*" for name, _, _, takes_file in commands if takes_file),
        choices="\n".join(f"        {flag}:*) words='{' '.join(words)}' ;;" for flag, words in choices.items()),
    )


def zsh(commands):
    cases = []
    for name, flags, words, takes_file in commands:
        specs = ["*:file:_files" if takes_file else f"*:word:({' '.join(words)})"]
        for flag, help, value, words in flags:
            offered = "_files" if value in FILES else f"({' '.join(words)})" if words else ""
            specs.append(f"{flag}[{help}]" + (f":{value}:{offered}" if value else ""))
        cases.append(f"        {name}) _arguments {shlex.join(specs)} ;;")
    commands = shlex.join(f"{name}:{help}" for name, help in COMMANDS.items())
    return ZSH.format(commands=commands, cases="\n".join(cases))


def fish(commands):
    lines = ["complete -c agentjob -f"]
    for name, flags, words, takes_file in commands:
        lines.append(f"complete -c agentjob -n __fish_use_subcommand -a {name} -d {shlex.quote(COMMANDS[name])}")
        here = f"complete -c agentjob -n '__fish_seen_subcommand_from {name}'"
        for flag, help, value, words_of in flags:
            offered = f" -x -a {shlex.quote(' '.join(words_of))}" if words_of else " -x" if value else ""
            lines.append(f"{here} -l {flag[2:]} -d {shlex.quote(help)}{' -r -F' if value in FILES else offered}")
        if words:
            lines.append(f"{here} -a {shlex.quote(' '.join(words))}")
        if takes_file:
            lines.append(f"{here} -F")
    return "\n".join(lines) + "\n"
