"""Programs that are unusual hosts: patched by gevent, with sub-interpreters, inside a zip file."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import textwrap
import zipapp

import pytest

import agentjob
from conftest import PATIENCE, arrived, wait_for


def run(program, *arguments, **options):
    command = [sys.executable, "-c", textwrap.dedent(program), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, **options)


def test_gevents_thread_pool_runs_calls_beside_other_greenlets(emulator):
    pytest.importorskip("gevent")
    emulator.reset(jobs=[{"id": "job_busy", "status": "active"}, {"id": "job_demo"}], work_ms=100)
    program = """
        from gevent import monkey
        monkey.patch_all()
        import threading, time
        import agentjob, gevent

        client = agentjob.Client(trust_env=False)
        assert client.send_and_wait("job_demo", "in a greenlet")["status"] == "completed"
        pool, token = gevent.get_hub().threadpool, agentjob.CancelToken()
        wait = pool.spawn(client.wait, "job_busy", cancel=token)
        # This greenlet runs while the call is in flight.
        jobs = [pool.spawn(client.send_message, job, "p") for job in [client.create_job("x")["id"] for _ in range(5)]]
        print(*[job.get()["status"] for job in jobs], wait.ready())
        try:
            with gevent.Timeout(0.05):
                wait.get()
        except gevent.Timeout:
            print("timeout")
        token.cancel()
        try:
            wait.get()
        except agentjob.CancelledError:
            print("cancelled")
        # Patched threads are greenlets, and a patched queue and lock of the program do not matter to the client.
        thread = threading.Thread(target=client.get_job, args=("job_demo",))
        thread.start()
        thread.join()
        with client:
            pass
    """
    ran = run(program, env={**os.environ, **emulator.environment()})
    assert ran.returncode == 0, ran.stderr  # where gevent prints the exception of the cancelled call, too
    assert ran.stdout.splitlines() == ["active active active active active False", "timeout", "cancelled"]
    assert len(emulator.ledger()) == 11


def test_ctrl_c_ends_a_call_of_a_greenlet_on_the_main_thread(emulator):
    pytest.importorskip("gevent")
    program = """
        from gevent import monkey
        monkey.patch_all()
        import agentjob, gevent

        def wait():
            try:
                agentjob.Client(trust_env=False).wait("job_busy", min_interval=600, max_interval=600)
            except KeyboardInterrupt:
                print("interrupted", flush=True)

        gevent.spawn(wait).join()
    """
    environment = {**os.environ, **emulator.environment()}
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], env=environment, stdout=subprocess.PIPE, text=True)
    wait_for(lambda: arrived(emulator), "it waits")
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[0] == "interrupted\n"


SUBINTERPRETER = """
    import agentjob
    try:
        import _interpreters as interpreters
    except ImportError:
        import _xxsubinterpreters as interpreters
    other = interpreters.create()
    code = '''
    try:
        import agentjob
    except ImportError as error:
        print(error)
    '''
    getattr(interpreters, "exec", interpreters.run_string)(other, "import sys; sys.path[:] = " + repr(__import__("sys").path))
    getattr(interpreters, "exec", interpreters.run_string)(other, __import__("textwrap").dedent(code))
"""


def test_a_sub_interpreter_is_told_what_to_use_instead():
    ran = run(SUBINTERPRETER)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (
        "agentjob works in one interpreter of a process, because its native module does (a rule of PyO3): import it in the main "
        "interpreter, and use threads or processes instead of sub-interpreters\n"
    )


@pytest.fixture
def zipped(tmp_path):
    """A zip file with agentjob inside, or only with a program."""

    def zipped(inside):
        folder = tmp_path / "app"
        folder.mkdir()
        if inside:
            shutil.copytree(pathlib.Path(agentjob.__file__).parent, folder / "agentjob")
        (folder / "__main__.py").write_text("import agentjob; print(agentjob.__version__)", "utf-8")
        zipapp.create_archive(folder, tmp_path / "app.pyz")
        return str(tmp_path / "app.pyz")

    return zipped


def test_a_zip_file_with_agentjob_inside_says_why_it_cannot_work(zipped):
    ran = subprocess.run([sys.executable, "-I", zipped(inside=True)], capture_output=True, text=True, timeout=PATIENCE)
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1].startswith("ImportError: agentjob cannot be imported from inside a zip file (")
    assert "install agentjob beside the zip file, or build it with a tool that unpacks it" in ran.stderr


def test_a_zip_file_beside_agentjob_works(zipped):
    ran = subprocess.run([sys.executable, zipped(inside=False)], capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.returncode, ran.stdout) == (0, agentjob.__version__ + "\n"), ran.stderr


def test_any_other_failure_of_the_native_module_stays_as_it_is():
    program = """
        import sys
        sys.modules["agentjob._native"] = None
        import agentjob
    """
    ran = run(program)
    assert ran.stderr.splitlines()[-1].startswith("ModuleNotFoundError: import of agentjob._native halted")
