"""The pytest plugin, in runs of pytest of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

from conftest import PATIENCE


@pytest.fixture
def run(tmp_path):
    """Runs pytest on a file of tests in an empty folder. Returns its output once its exit status is as expected."""

    def run(source, *flags, status=0, **variables):
        tmp_path.joinpath("test_it.py").write_text(textwrap.dedent(source), "utf-8")
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-v", "-s", *flags]
        # The options and plugins of the run around it are not those of this one.
        inherited = {name: value for name, value in os.environ.items() if name not in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")}
        environment = {**inherited, **variables}
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert ran.returncode == status, ran.stdout + ran.stderr
        return ran.stdout

    return run


def test_an_unmodified_program_talks_to_the_emulator_and_is_quick(run):
    run("""
        import agentjob

        def my_script():
            with agentjob.Client() as client:
                return client.send_and_wait("job_demo", "Also cover the error cases")

        def test_it(agentjob_emulator, agentjob_client):
            assert my_script()["status"] == "completed"
            assert [message["prompt"] for message in agentjob_emulator.ledger()] == ["Also cover the error cases"]
            assert agentjob_client.get_job("job_demo")["status"] == "completed"
            assert agentjob_client.base_url == agentjob_emulator.base_url
            # No poll waited for the default of 2 s: three of them take at least 6 s.
            assert len(agentjob_emulator.requests()["requests"]) >= 3
            state = agentjob.Client().poller("job_demo").to_text()
            assert '"min_interval_ms":20,' in state and '"settle_ms":250,' in state
    """)


def test_the_environment_is_that_of_the_emulator_in_the_test_and_as_before_after_it(run):
    run(
        """
        import os

        import pytest

        OUTSIDE = {"AGENTJOB_BASE_URL": "https://outside.invalid", "AGENTJOB_API_KEY_FILE": "/outside"}

        def ours():
            return {name: value for name, value in os.environ.items() if name.startswith("AGENTJOB_")}

        @pytest.fixture(autouse=True)
        def around():
            assert ours() == OUTSIDE
            yield

        @pytest.mark.parametrize("fails", [False, True])
        def test_inside(agentjob_emulator, fails, monkeypatch):
            assert ours() == agentjob_emulator.environment()
            monkeypatch.undo()
            assert ours() == agentjob_emulator.environment()
            assert not fails

        def test_after():
            assert ours() == OUTSIDE
        """,
        status=1,
        AGENTJOB_BASE_URL="https://outside.invalid",
        AGENTJOB_API_KEY_FILE="/outside",
    ).index("1 failed, 2 passed")


def test_a_marker_configures_the_emulator(run):
    run(
        """
        import pytest

        pytestmark = pytest.mark.agentjob_emulator(outcome="failed", api_key="of_the_module")

        @pytest.mark.agentjob_emulator(api_key="of_the_test")
        def test_both(agentjob_emulator, agentjob_client):
            assert agentjob_client.send_and_wait("job_demo", "p")["status"] == "failed"
            assert agentjob_emulator.api_key == "of_the_test"
        """,
        "--strict-markers",
    )


def test_a_misspelt_configuration_is_an_error(run):
    output = run(
        """
        import pytest

        @pytest.mark.agentjob_emulator(work_s=3)
        def test_it(agentjob_emulator):
            pass
        """,
        status=1,
    )
    assert "unexpected keyword argument 'work_s'" in output


def test_it_works_with_xdist(run):
    pytest.importorskip("xdist")
    source = """
        import agentjob
        import pytest

        @pytest.mark.parametrize("n", range(8))
        def test_it(agentjob_emulator, n):
            with agentjob.Client() as client:
                client.send_message("job_demo", str(n))
            assert [message["prompt"] for message in agentjob_emulator.ledger()] == [str(n)]
    """
    assert "8 passed" in run(source, "-n", "2")


def test_a_run_that_does_not_use_it_loads_one_module(run):
    source = """
        import sys

        def test_it():
            ours = sorted(name for name in sys.modules if name.partition(".")[0] in ("agentjob", "agentjob_pytest"))
            assert ours == ["agentjob_pytest"]
    """
    run(source)
    # What the module itself loads: nothing that pytest has not loaded anyway.
    code = "import sys, pytest; before = set(sys.modules); import agentjob_pytest; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == ["agentjob_pytest"]


def test_agentjob_needs_no_pytest():
    code = "import sys; sys.modules['pytest'] = None; import agentjob, agentjob.aio, agentjob.testing, agentjob.types"
    code += "\nwith agentjob.testing.Emulator() as emulator: emulator.client().get_job('job_demo')"
    subprocess.run([sys.executable, "-I", "-c", code], check=True)


def test_its_fixtures_are_documented(run):
    output = run("", "--fixtures")
    assert "agentjob_emulator" in output and "The AGENTJOB_ variables lead to it for the test" in output
    assert "@pytest.mark.agentjob_emulator" in run("", "--markers")
