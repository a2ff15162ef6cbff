"""The command line's help, and what a shell completes."""

import importlib
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import agentjob
from agentjob._cli import completion
from agentjob._cli.arguments import SHELLS, parser
from agentjob._cli.help import COMMANDS, EXAMPLES
from conftest import PATIENCE
from test_cli import run


def test_help_shows_the_commands_the_settings_and_the_exit_statuses():
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
    command = line.partition("agentjob ")[2].partition("    ")[0]  # a comment is far to the right
    words = shlex.split(re.split(r'\)"| > | \| ', command)[0])
    if words[0] != "COMMAND":
        assert parser().parse_args(words).command == words[0]


def test_no_command_at_all_shows_the_help():
    status, out, err = run(None)
    assert (status, out) == (2, "") and err == run(None, "--help")[1]


def completed(line):
    """What bash offers for the last word of a line."""
    if not shutil.which("bash"):
        pytest.skip("bash is not here")
    words = line.split(" ")
    program = (
        'eval "$("$0" -m agentjob completion bash)"; complete -p agentjob >/dev/null || exit; '
        f'COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _shtab_agentjob; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", program, sys.executable], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stderr == ""
    return list(filter(None, done.stdout.splitlines()))


def test_bash_completes_commands_and_flags():
    assert completed("agentjob wa") == ["wait"]
    assert set(completed("agentjob ")) >= set(COMMANDS)
    assert completed("agentjob send --wait") == ["--wait", "--wait-timeout"]
    assert completed("agentjob get --j") == ["--json-events"]
    assert set(completed("agentjob completion ")) >= set(SHELLS)
    assert completed("agentjob send-all messages.jsonl --format j") == ["jsonl"]
    assert completed("agentjob send-all --resend") == ["--resend-unknown"]


@pytest.mark.parametrize("line", ["send-all n", "send-all x --journal n", "send --ca-file n", "batch-status --json n"])
def test_bash_completes_the_names_of_files(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("night.jsonl", "night two"):
        (tmp_path / name).touch()
    assert sorted(completed(f"agentjob {line}")) == ["night two", "night.jsonl"]


def test_zsh_reads_its_script():
    if not shutil.which("zsh"):
        pytest.skip("zsh is not here")
    program = 'compdef() { print -r -- "$@"; }; eval "$("$0" -m agentjob completion zsh)"'
    done = subprocess.run(["zsh", "-fc", program, sys.executable], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.stdout, done.stderr) == ("_shtab_agentjob -N agentjob\n", "")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_completion_scripts_are_what_shtab_makes_of_the_parser(shell, tools):
    assert run(None, "completion", shell)[1] == tools.script(shell), "run python/tools/completions.py"


@pytest.fixture
def tools(monkeypatch):
    pytest.importorskip("shtab")
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).parents[2] / "python" / "tools"))
    return importlib.import_module("completions")


def test_a_package_without_the_scripts_says_so(monkeypatch, tmp_path):
    monkeypatch.setattr("agentjob._cli.completion.__file__", str(tmp_path / "completion.py"))
    with pytest.raises(agentjob.Error, match="completion script for bash cannot be read"):
        completion.script("bash")
