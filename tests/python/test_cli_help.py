"""What somebody sees who has never used the command line, and what a shell completes."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from agentjob._cli.arguments import parser
from agentjob._cli.help import COMMANDS, EXAMPLES
from conftest import PATIENCE
from test_cli import run


def test_help_tells_the_commands_the_settings_and_the_exit_statuses():
    status, out, err = run(None, "--help", env={"COLUMNS": "80"})
    assert (status, err) == (0, "")
    for name, what in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(what)}$", out, re.M)
    for word in ("AGENTJOB_BASE_URL", "AGENTJOB_API_KEY", "AGENTJOB_API_KEY_FILE", "AGENTJOB_PROJECT_ID", "examples:"):
        assert word in out
    assert re.findall(r"^  (\d+) ", out, re.M) == ["0", "1", "2", "3", "4", "5", "130"]


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "emulator"])
def test_each_command_has_an_example_and_no_flag_takes_the_key(name):
    status, out, _ = run(None, name, "--help")
    assert status == 0 and "130 interrupted" in out and f"examples:\n{EXAMPLES[name]}" in out
    assert not re.search(r"--api-key\b(?!-file)", out)


def test_the_emulator_has_help_of_its_own():
    status, out, _ = run(None, "emulator", "--help")
    assert status == 0 and "--work-ms" in out


@pytest.mark.parametrize("line", "".join(EXAMPLES.values()).splitlines(), ids=str.strip)
def test_every_example_is_a_command(line):
    command = line.partition("agentjob ")[2].partition("    ")[0]  # a remark stands far off
    words = shlex.split(re.split(r'\)"| > | \| ', command)[0])
    if words[0] != "COMMAND":
        assert parser().parse_args(words).command == words[0]


def test_no_command_at_all_shows_the_help():
    status, out, err = run(None)
    assert (status, out) == (2, "") and err == run(None, "--help")[1]


def completed(shell, line):
    """What a shell offers for the last word of a line."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not here")
    environment = {**os.environ, "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"], "TERM": "xterm"}
    words = line.split(" ")
    programs = {
        "bash": f'eval "$("$0" -m agentjob completion bash)"; complete -p agentjob >/dev/null || exit; '
        f'COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _agentjob; printf "%s\\n" "${{COMPREPLY[@]}}"',
        "fish": f"{shlex.quote(sys.executable)} -m agentjob completion fish | source; complete -C {shlex.quote(line)}",
        # zsh completes nothing without a terminal: a stand-in of its own functions says what it was told.
        "zsh": 'compdef() { :; }; _describe() { print -l -- ${${(P)2}%%:*}; }; _arguments() { print -l -- $@; }; '
        f'eval "$("$0" -m agentjob completion zsh)"; words=({shlex.join(words)}); CURRENT={len(words)}; _agentjob',
    }
    command = [shell, "-c", programs[shell], *([] if shell == "fish" else [sys.executable])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr == ""
    return [offer.partition("\t")[0] for offer in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_a_shell_completes_commands_and_flags(shell):
    assert completed(shell, "agentjob wa") == ["wait"]
    assert set(completed(shell, "agentjob ")) >= set(COMMANDS)
    assert completed(shell, "agentjob send --wait") == ["--wait", "--wait-timeout"]
    assert set(completed(shell, "agentjob get --j")) == {"--json-events"}
    assert set(completed(shell, "agentjob completion ")) >= {"bash", "fish", "zsh"}
    assert "--wait" not in completed(shell, "agentjob send --ca-file /nowhere")
    assert completed(shell, "agentjob send-all messages.jsonl --format j") == ["jsonl"]
    assert completed(shell, "agentjob send-all --resend") == ["--resend-unknown"]


@pytest.mark.parametrize("shell", ["bash", "fish"])
@pytest.mark.parametrize("line", ["send-all n", "send-all x --journal n", "send-all --json n", "batch-status --json n"])
def test_a_shell_completes_the_names_of_files(shell, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("night.jsonl", "night two"):
        (tmp_path / name).touch()
    # bash completes files by itself where it is offered nothing.
    expected = [] if shell == "bash" else ["night two", "night.jsonl"]
    assert sorted(filter(None, completed(shell, f"agentjob {line}"))) == expected


def test_zsh_is_told_commands_and_flags():
    assert completed("zsh", "agentjob wa") == list(COMMANDS)
    flags = completed("zsh", "agentjob send --w")
    assert "--wait[then wait until the job is done]" in flags and "*:word:()" in flags
    assert any(flag.startswith("--ca-file[") and flag.endswith("]:FILE:_files") for flag in flags)
    assert "*:word:(bash zsh fish)" in completed("zsh", "agentjob completion ")
    flags = completed("zsh", "agentjob send-all --")
    assert "*:file:_files" in flags and any(flag.endswith("]:FORMAT:(jsonl csv)") for flag in flags)
    assert any(flag.startswith("--journal[") and flag.endswith("]:RUN:_files") for flag in flags)
