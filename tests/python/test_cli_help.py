"""The command line's help, and what a shell completes."""

import locale
import re
import shlex
import shutil
import subprocess
import sys

import pytest

import agentjob
from agentjob._cli.arguments import SHELLS, parser
from agentjob._cli.help import BATCH_COMMANDS, COMMANDS, EXAMPLES
from agentjob._cli.suggest import commands_of
from conftest import PATIENCE
from test_cli import run

SUB = commands_of(parser())


def test_help_shows_the_commands_the_settings_and_the_exit_statuses():
    status, out, err = run(None, "--help", env={"COLUMNS": "80"})
    assert (status, err) == (0, "")
    for name, what in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(what)}$", out, re.M)
    for word in ("AGENTJOB_BASE_URL", "AGENTJOB_API_KEY", "AGENTJOB_API_KEY_FILE", "AGENTJOB_PROJECT_ID", "examples:"):
        assert word in out
    assert re.findall(r"^  (\d+) ", out, re.M) == ["0", "1", "2", "3", "4", "5", "130"]


def test_a_group_shows_its_commands():
    status, out, err = run(None, "batch", "--help")
    assert (status, err) == (0, "")
    for name, what in BATCH_COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(what)}$", out, re.M)
    assert run(None, "batch") == (2, "", out)


@pytest.mark.parametrize("name", [name for name in (*COMMANDS, *BATCH_COMMANDS) if name != "emulator"])
def test_each_command_has_an_example_and_no_flag_takes_the_key(name):
    status, out, _ = run(None, *name.split(), "--help")
    assert status == 0 and "130 interrupted" in out and f"examples:\n{EXAMPLES[name]}" in out
    assert not re.search(r"--api-key\b(?!-file)", out)


def test_the_emulator_has_help_of_its_own():
    status, out, _ = run(None, "emulator", "--help")
    assert status == 0 and "--work-ms" in out


@pytest.mark.parametrize("line", "".join(EXAMPLES.values()).splitlines(), ids=str.strip)
def test_every_example_is_a_command(line):
    command = line.partition("agentjob ")[2].partition("    ")[0]  # a comment is far to the right
    words = shlex.split(re.split(r'\)"| > | \| ', command)[0])
    if "COMMAND" not in words:
        assert parser().parse_args(words).command in (words[0], " ".join(words[:2]))


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
    assert {f"batch {word}" for word in completed("agentjob batch ")} >= set(BATCH_COMMANDS)
    assert completed("agentjob send --wait") == ["--wait", "--wait-timeout"]
    assert completed("agentjob get --j") == ["--json-events"]
    assert set(completed("agentjob completion ")) >= set(SHELLS)
    assert completed("agentjob batch run messages.jsonl --format js") == ["json", "jsonl"]
    assert completed("agentjob batch run --resend") == ["--resend-unknown"]


@pytest.mark.parametrize("line", ["batch run n", "batch run x --journal n", "send --ca-file n", "batch status --json n"])
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


def test_without_shtab_the_completion_says_what_to_install(tmp_path):
    (tmp_path / "shtab.py").write_text("raise ImportError")
    status, out, err = run(None, "completion", "bash", env={"PYTHONPATH": str(tmp_path)})
    assert (status, out, err) == (3, "", "agentjob: the script is made by shtab, which is not installed. Install agentjob[cli].\n")


@pytest.mark.parametrize("name", ["send", "create", "get"])
def test_help_fits_a_screen(name):
    status, out, _ = run(None, name, "--help", env={"COLUMNS": "80"})
    lines = out.splitlines()
    assert status == 0 and len(lines) <= 23 and max(map(len, lines)) <= 79, out  # a prompt follows
    assert lines[-1] == "the service, its key, polling and exit statuses: agentjob help settings"


def test_the_settings_are_a_page_of_their_own():
    status, out, err = run(None, "help", "settings")
    assert (status, err) == (0, "")
    for flag in SUB["send"]._option_string_actions:
        assert flag in out + run(None, "send", "--help")[1], flag
    for word in ("--base-url", "--connect-timeout", "--settle", "AGENTJOB_API_KEY", "AGENTJOB_SETTLE", "AGENTJOB_WAIT_TIMEOUT"):
        assert word in out
    assert re.findall(r"^  (\d+) ", out, re.M) == ["0", "1", "2", "3", "4", "5", "130"]


def test_help_shows_the_help_of_a_command():
    for words in ([], ["send"], ["batch", "run"]):
        assert run(None, "help", *words)[1] == run(None, *words, "--help")[1]
    assert run(None, "help", "setings")[2].endswith("there is no help for setings; did you mean settings?\n")
    assert run(None, "help", "batch", "rum")[0] == 2


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_the_version(flag):
    assert run(None, flag) == (0, f"agentjob {agentjob.__version__}\n", "")


@pytest.mark.parametrize(
    "words, error",
    [
        (["sned", "job", "p"], "agentjob: error: there is no command sned; did you mean send?"),
        (["xyzzy"], "agentjob: error: there is no command xyzzy"),
        (["batch", "rnu"], "agentjob batch: error: there is no command rnu; did you mean run?"),
        (["get", "job", "--timeot", "3"], "agentjob get: error: there is no flag --timeot; did you mean --timeout?"),
        (["get", "job", "--timeot=3"], "agentjob get: error: there is no flag --timeot; did you mean --timeout?"),
        (["send", "job", "--xyzzy"], "agentjob send: error: there is no flag --xyzzy; put -- before a prompt that begins with it"),
        (["send", "job", "p", "--wait-timeout", "3"], "agentjob send: error: --wait-timeout needs --wait"),
        (["get", "job", "--timeout", "1_0"], "agentjob get: error: argument --timeout: '1_0' is not a number of seconds, like 60 or 0.5"),
        (["send", "job", "p", "--wait", "--settle", "\u0663"], "agentjob send: error: argument --settle: '\u0663' is not a number of seconds, like 60 or 0.5"),
        (["wait", "job", "--wait-timeout", "never"], "agentjob wait: error: argument --wait-timeout: 'never' is not a number of seconds, or none"),
        (["get", "job", "--max-retries", "1_0"], "agentjob get: error: argument --max-retries: '1_0' is not a whole number"),
        (["create", "p", "--settle", "3"], "agentjob create: error: --settle needs --wait"),
        (["batch", "run", "f", "--journal", "j", "--min-interval", "3"], "agentjob batch run: error: --min-interval needs --wait"),
        (["get", "a\u2028b", "c\u202ed\x1b"], r"agentjob: error: unrecognized arguments: c\u{202e}d\u{1b}"),
    ],
)
def test_a_wrong_word_gets_one_sentence_and_the_nearest_right_one(words, error):
    """The same on every Python."""
    status, out, err = run(None, *words)
    of_locale = locale.getpreferredencoding(False)
    assert (status, out, err.splitlines()[-1]) == (2, "", error.encode(of_locale, "backslashreplace").decode(of_locale))


def test_a_prompt_may_look_like_a_flag(emulator):
    assert run(emulator, "send", "job_demo", "--", "--fix")[0] == 0
    assert run(emulator, "send", "job_demo", "--fix this")[0] == 0
    assert [message["prompt"] for message in emulator.ledger()] == ["--fix", "--fix this"]


def test_the_emulator_offers_what_its_build_has_and_uses_its_own_name():
    status, out, _ = run(None, "emulator", "--help")
    assert status == 0 and out.startswith("Usage: agentjob emulator [flags]\n") and "--tls" not in out
    for flag, value in re.findall(r"^  (--[a-z-]+)( [A-Z]+)?", out, re.M):
        assert "there is no flag" not in run(None, "emulator", flag, *["x"] * bool(value))[2]
    status, _, err = run(None, "emulator", "--tls")
    assert status == 2 and err.startswith("agentjob emulator: --tls needs an emulator that was built with TLS; in a clone: cargo build ")
    assert run(None, "emulator", "--port", "x")[2].startswith("agentjob emulator: --port takes a number")
