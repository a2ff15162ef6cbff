"""agentjob.once over SQLite in processes that fork, whose children must not use what their parents have open."""

import os
import threading

import pytest
from steps import Stopping, prompts, state

import agentjob
from agentjob._once import turns
from agentjob.once import Once


@pytest.fixture
def database(tmp_path):
    return tmp_path / "steps.db"


def test_forked_children_have_what_they_wrote_whatever_their_parent_does(emulator, client, database, script):
    """A child sends; its parent ends; another program opens the file; and the child sends again."""
    emulator.reset(hourly_limit=100_000)
    program = script(
        f"""
        import os, sqlite3
        from agentjob.once import Once
        once = Once(client, {str(database)!r})
        once.send_message("parent", "job_demo", "parent")
        sent, has_sent = os.pipe()
        ended, ends = os.pipe()
        if os.fork():
            os.close(has_sent)
            os.read(sent, 1)
            os._exit(0)
        os.close(ends)
        once.send_message("before", "job_demo", "before")
        os.close(has_sent)
        os.read(ended, 1)  # returns when the parent has ended
        other = sqlite3.connect({str(database)!r})
        other.execute("SELECT count(*) FROM agentjob_steps").fetchall()
        other.close()
        once.send_message("after", "job_demo", "after")
        once.send_message("parent", "job_demo", "parent")
        print("done")
        """
    )
    assert program.end()[:2] == ("done\n", "")
    assert [step["key"] for step in Once(client, database).steps()] == ["after", "before", "parent"]
    assert prompts(emulator) == ["after", "before", "parent"]


def test_a_child_that_is_forked_in_a_call_leaves_the_step_to_its_parent(once):
    children = []

    def fork(_):
        children.append(os.fork())
        if not children[-1]:
            raise RuntimeError("this is the child")

    raised = None
    try:
        once.send_message("k", "job_demo", "p", meta=fork)
    except BaseException as error:
        raised = error
    if children == [0]:
        os._exit(7 if isinstance(raised, RuntimeError) else 1)
    assert raised is None
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
    (step,) = once.store.get(["k"], None, 10)
    assert step.state == "accepted" and step.record is not None


def test_a_child_that_is_forked_before_the_message_leaves_does_not_send_it(emulator, client, database):
    children = []
    once = Once(client, Stopping(database, after={"take": lambda: children.append(os.fork())}))
    try:
        once.send_message("k", "job_demo", "p")
    except agentjob.StoreError as error:
        os._exit(7 if error.delivery == "unknown" and not children[0] else 1)
    if not children[0]:
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
    assert prompts(emulator) == ["p"] and state(once) == "accepted"


def test_a_signal_handler_may_use_the_store_while_its_thread_forks(script, database):
    program = script(
        f"""
        import os, signal
        from agentjob.once import Once
        once = Once(client, {str(database)!r})
        once.steps()
        seen = []
        signal.signal(signal.SIGCHLD, lambda *_: seen.append(once.steps()))
        for n in range(60):
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        print(bool(seen))
        """
    )
    assert program.end() == ("True\n", "", 0)


def test_a_fork_waits_for_statements_that_begin_and_end_all_the_time(script):
    """What counts the statements is read while other threads change it, which Python's own loops do not stand."""
    program = script(
        """
        import os, threading, warnings
        from agentjob._once import turns
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, about forks and threads
        sys.setswitchinterval(1e-6)
        done, ignored = [], []
        sys.unraisablehook = lambda raised: ignored.append(raised.exc_value)

        def work():
            while not done:
                statement = turns.Statement()
                try:
                    turns.begin(statement, float("inf"))
                finally:
                    turns.end(statement)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        results = set()
        for n in range(400):
            child = os.fork()
            if child == 0:
                try:
                    turns.begin(turns.Statement(), 0)
                except turns.Inherited:
                    os._exit(7)
                os._exit(0)
            results.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        done.append(True)
        for thread in threads:
            thread.join()
        print(ignored, results)
        """
    )
    assert program.end() == ("[] {0}\n", "", 0)


def test_a_child_that_was_forked_during_a_statement_of_another_thread_uses_no_store(client, once, monkeypatch):
    """Where Ctrl-C kept the fork from waiting for it."""
    once.send_message("k", "job_demo", "p")
    statement = turns.Statement()
    monkeypatch.setitem(turns._statements, id(statement), (os.getpid(), 1, True))  # of another thread
    monkeypatch.setattr(turns, "PATIENCE", 0.0)
    child = os.fork()
    if child == 0:
        try:
            once.send_message("child", "job_demo", "p")
        except agentjob.StoreError as error:
            os._exit(7 if error.delivery == "not_sent" and "was forked during a statement" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    turns.end(statement)
    assert [step["key"] for step in once.steps()] == ["k"]


def test_a_child_that_a_signal_handler_forks_in_a_statement_and_that_returns_to_it_uses_no_store(once):
    once.send_message("k", "job_demo", "p")
    children = []

    def fork(connection):
        children.append(os.fork())
        return connection.execute("SELECT count(*) FROM agentjob_steps").fetchall()

    try:
        counted = once.store._run(fork, 10)
    except BaseException:
        counted = None
    if children == [0]:
        try:
            once.steps()
        except agentjob.StoreError as error:
            os._exit(7 if "was forked during a statement" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
    assert counted == [(1,)] and [step["key"] for step in once.steps()] == ["k"]


def test_threads_of_a_child_use_the_store_for_the_first_time_at_once(script, database):
    program = script(
        f"""
        import os, threading, warnings
        from agentjob.once import Once
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, about forks and threads
        once = Once(client, {str(database)!r})
        once.steps()
        sys.setswitchinterval(1e-6)
        results = set()
        for n in range(15):
            child = os.fork()
            if child == 0:
                done, together = [], threading.Barrier(6)
                def use():
                    together.wait()
                    done.append(once.steps())
                threads = [threading.Thread(target=use) for _ in range(6)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
                os._exit(len(done))
            results.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        print(results)
        """
    )
    assert program.end() == ("{6}\n", "", 0)


def test_a_fork_in_a_signal_handler_waits_for_no_statement_that_waits_for_its_threads_own(script):
    program = script(
        """
        import os, signal, threading, time, warnings
        from agentjob._once import turns
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12's, about forks and threads
        turns.PATIENCE = 30.0
        seen = []

        def fork(*_):
            began = time.monotonic()
            child = os.fork()
            took = time.monotonic() - began
            if child == 0:
                try:
                    turns.begin(turns.Statement(), float("inf"))
                except turns.Inherited:
                    os._exit(7)
                os._exit(1)
            seen.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            seen.append(took < turns.PATIENCE)

        def wait(other):
            turns.begin(other, float("inf"))
            seen.append("has its turn")
            turns.end(other)

        mine = turns.Statement()
        turns.begin(mine, float("inf"))
        thread = threading.Thread(target=wait, args=(turns.Statement(),))
        thread.start()
        while len(turns._statements) < 2:
            time.sleep(0.001)
        signal.signal(signal.SIGALRM, fork)
        signal.raise_signal(signal.SIGALRM)
        turns.end(mine)
        thread.join()
        print(seen)
        """
    )
    assert program.end() == ("[7, True, 'has its turn']\n", "", 0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12's, about threads
def test_threads_and_forked_children_send_at_the_same_time(emulator, once):
    emulator.reset(hourly_limit=100_000)
    done, errors = threading.Event(), []

    def send(thread):
        for n in range(10_000):
            if done.is_set():
                return
            try:
                once.send_message(f"thread {thread} {n}", "job_demo", f"thread {thread} {n}")
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=send, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    children = []
    for n in range(10):
        child = os.fork()
        if child == 0:
            try:
                once.send_message(f"child {n}", "job_demo", f"child {n}")
                os._exit(0)
            finally:
                os._exit(1)
        children.append(child)
    statuses = [os.waitpid(child, 0)[1] for child in children]
    done.set()
    for thread in threads:
        thread.join()
    assert statuses == [0] * 10 and errors == []
    steps, sent = once.steps(), prompts(emulator)
    assert {step["state"] for step in steps} == {"accepted"}
    assert sorted(step["key"] for step in steps) == sent
