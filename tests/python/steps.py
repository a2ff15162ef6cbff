"""What the tests of agentjob.once share: rules of the service, a store that stops between two statements, and what is seen of both."""

import contextlib
import sqlite3

import pytest

import agentjob
from agentjob.once import Taker
from agentjob._once.lookup import opened

POST = {"method": "POST", "nth": 1}
#: The service takes the message, and its response is lost.
LOST = {**POST, "fault": {"do": "close", "at": "request", "process": True}}


def prompts(emulator):
    return sorted(message["prompt"] for message in emulator.ledger())


@contextlib.contextmanager
def connected(path, **options):
    """A connection of another program, which is closed at the end; a `with` of sqlite3's own commits and leaves it open."""
    with contextlib.closing(sqlite3.connect(path, **options)) as connection, connection:
        yield connection


def state(once, key="k"):
    (step,) = once.steps([key])
    return step["state"]


def raised(call, *arguments, **options):
    with pytest.raises(agentjob.Error) as caught:
        call(*arguments, **options)
    return caught.value


def settings(emulator):
    names = {"AGENTJOB_BASE_URL": "base_url", "AGENTJOB_API_KEY": "api_key", "AGENTJOB_PROJECT_ID": "project_id"}
    return {names[name]: value for name, value in emulator.environment().items() if name in names}


def taken(store, client, owner="another", lease=600.0, key="k", prompt="p", rate=None, patience=10.0):
    """Another worker takes a step."""
    digest = agentjob._native.step_message(client, key, "job_demo", prompt)
    return store.take(key, "job_demo", digest, Taker(owner, lease, *agentjob._native.step_pace(client, rate)), patience)


class Wrapped:
    """The store of a database, of which a subclass changes methods."""

    def __init__(self, database):
        self.store = opened(database)

    def __getattr__(self, name):
        return getattr(self.store, name)


class Stopping(Wrapped):
    """Does something between two statements of the protocol."""

    def __init__(self, database, before=None, after=None):
        super().__init__(database)
        self.before, self.after = before or {}, after or {}

    def take(self, *arguments):
        return self._at("take", arguments)

    def settle(self, *arguments):
        return self._at("settle", arguments)

    def _at(self, name, arguments):
        self.before.get(name, lambda: None)()
        done = getattr(self.store, name)(*arguments)
        self.after.get(name, lambda: None)()
        return done
