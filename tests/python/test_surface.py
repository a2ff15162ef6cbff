"""The package's public interface: names, signatures, docs and types."""

import ast
import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

import agentjob
from agentjob import _native

HEAVY = {"typing", "json", "ssl", "logging", "asyncio", "dataclasses", "argparse"}


def test_everything_in_all_is_there_and_documented():
    for name in agentjob.__all__:
        thing = getattr(agentjob, name)
        assert name == "__version__" or inspect.getdoc(thing), name


@pytest.mark.parametrize("cls", [agentjob.Client, agentjob.Batch, agentjob.Watch, agentjob.Poller, agentjob.CancelToken])
def test_every_public_method_is_documented(cls):
    for name, member in vars(cls).items():
        if not name.startswith("_"):
            assert inspect.getdoc(member), f"{cls.__name__}.{name}"


def test_modules_that_most_programs_do_not_need_are_loaded_when_they_are_asked_for():
    assert agentjob.types is importlib.import_module("agentjob.types")
    assert agentjob.testing is importlib.import_module("agentjob.testing")
    with pytest.raises(AttributeError, match="nonsense"):
        agentjob.nonsense


def test_an_import_loads_little():
    code = "import sys; before = set(sys.modules); import agentjob; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    modules = set(loaded.stdout.split())
    assert not modules & HEAVY
    assert len(modules) <= 12
    assert modules == {"agentjob", "agentjob._native", "agentjob.errors"}


def test_signatures_are_those_of_the_stub():
    wait = inspect.signature(agentjob.Client.wait)
    defaults = {name: p.default for name, p in wait.parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert defaults == {
        "timeout": 1800.0,
        "min_interval": 2.0,
        "max_interval": 60.0,
        "lateness": 0.15,
        "settle": 10.0,
        "check": False,
        "on_update": None,
        "cancel": None,
    }
    if sys.version_info < (3, 10):
        return  # inspect reads no signature of such a class there
    made = inspect.signature(agentjob.Client)
    assert {p.kind for p in made.parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


def test_the_stub_has_what_the_module_has():
    stub = ast.parse(pathlib.Path(agentjob.__file__).with_name("_native.pyi").read_text("utf-8"))
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            members = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            real = {name for name in vars(getattr(_native, node.name)) if not name.startswith("_")}
            assert {name for name in members if not name.startswith("_")} == real, node.name
            for item in node.body:
                if not isinstance(item, ast.FunctionDef) or item.decorator_list or item.name.startswith("__"):
                    continue
                signature = inspect.signature(getattr(getattr(_native, node.name), item.name))
                arguments = item.args
                stubbed = [arg.arg for arg in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
                assert stubbed == list(signature.parameters), f"{node.name}.{item.name}"
                required = inspect.Parameter.empty
                defaults = [required if default is None else ast.literal_eval(default) for default in arguments.kw_defaults]
                found = [p.default for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
                assert defaults == found, f"{node.name}.{item.name}"


def test_types_exist_at_runtime_and_name_the_keys_of_a_record(client):
    job = client.get_job("job_demo")
    assert list(job) == list(agentjob.types.Job.__annotations__)
    assert list(job["source"]) == list(agentjob.types.Source.__annotations__)
