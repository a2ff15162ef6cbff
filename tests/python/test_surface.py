"""The package's public interface: names, signatures, docs and types."""

import ast
import functools
import importlib
import inspect
import pathlib
import pickle
import pydoc
import shutil
import subprocess
import sys
import typing
import weakref
from functools import partial

import pytest

import agentjob
from agentjob import _native, aio, once, testing, types

STUB = ast.parse(pathlib.Path(agentjob.__file__).with_name("_native.pyi").read_text("utf-8"))
NATIVE = [agentjob.Client, agentjob.Watch, agentjob.Poller, agentjob.Batch, agentjob.CancelToken]
IN_PYTHON = [agentjob.Error, aio.AsyncClient, aio.AsyncWatch, aio.AsyncPoller, aio.AsyncBatch, once.Once, once.AsyncOnce, once.SQLiteStore, testing.Emulator]
HEAVY = {"typing", "json", "ssl", "logging", "asyncio", "dataclasses", "argparse"}


def test_everything_in_all_is_there_and_documented():
    for name in agentjob.__all__:
        thing = getattr(agentjob, name)
        assert name == "__version__" or inspect.getdoc(thing), name


@pytest.mark.parametrize("cls", NATIVE)
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
    # atexit is built into the interpreter.
    assert modules == {"agentjob", "agentjob._native", "agentjob.errors", "atexit"}


def test_no_engine_is_loaded_before_its_module_is_imported():
    code = "import sys, agentjob.once, agentjob.engines, agentjob.engines._airflow_provider; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert not set(loaded.stdout.split()) & {"airflow", "celery", "distributed", "ray", "psycopg"}


def parameters(signature):
    return [(p.name, p.kind, p.default) for p in signature.parameters.values() if p.name != "self"]


def stubbed(function):
    """The parameters of a function of the stub, like those of a signature."""
    given, empty = function.args, inspect.Parameter.empty
    positional = given.posonlyargs + given.args
    defaults = [empty] * (len(positional) - len(given.defaults)) + [ast.literal_eval(default) for default in given.defaults]
    kinds = [inspect.Parameter.POSITIONAL_ONLY] * len(given.posonlyargs) + [inspect.Parameter.POSITIONAL_OR_KEYWORD] * len(given.args)
    found = [(arg.arg, kind, default) for arg, kind, default in zip(positional, kinds, defaults) if arg.arg not in ("self", "cls")]
    for arg, default in zip(given.kwonlyargs, given.kw_defaults):
        found.append((arg.arg, inspect.Parameter.KEYWORD_ONLY, empty if default is None else ast.literal_eval(default)))
    if given.kwarg:
        found.append((given.kwarg.arg, inspect.Parameter.VAR_KEYWORD, empty))
    return found


def test_the_module_has_the_names_and_the_signatures_of_the_stub():
    compared = set()
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            assert stubbed(node) == parameters(inspect.signature(getattr(_native, node.name))), node.name
            compared.add(node.name)
        if not isinstance(node, ast.ClassDef):
            continue
        cls = getattr(_native, node.name)
        functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
        real = {name for name in vars(cls) if not name.startswith("_")}
        assert {item.name for item in functions if not item.name.startswith("_")} == real, node.name
        for item in functions:
            if item.name == "__new__" and sys.version_info >= (3, 10):  # inspect reads no signature of such a class before
                assert stubbed(item) == parameters(inspect.signature(cls)), node.name
            elif not item.name.startswith("__") and not item.decorator_list:
                assert stubbed(item) == parameters(inspect.signature(getattr(cls, item.name))), f"{node.name}.{item.name}"
            compared.add(f"{node.name}.{item.name}")
    assert {"Client.wait", "Client.__new__", "Poller.poll", "Batch.next_event", "CancelToken.cancel", "batch_export"} <= compared


#: How to call each native method and function that takes arguments by keyword.
CALLS = {
    "Client": lambda client, tmp_path: partial(type(client), base_url="https://example.com", api_key="k", project_id="p"),
    "Client.with_options": lambda client, tmp_path: client.with_options,
    "Client.send_message": lambda client, tmp_path: partial(client.send_message, "job_demo", "go"),
    "Client.get_job": lambda client, tmp_path: partial(client.get_job, "job_demo"),
    "Client.create_job": lambda client, tmp_path: partial(client.create_job, "go"),
    "Client.wait": lambda client, tmp_path: partial(client.wait, "job_demo"),
    "Client.send_and_wait": lambda client, tmp_path: partial(client.send_and_wait, "job_demo", "go"),
    "Client.watch": lambda client, tmp_path: partial(client.watch, "job_demo"),
    "Client.send_all": lambda client, tmp_path: partial(client.send_all, [], journal=tmp_path / "journal"),
    "Client.poller": lambda client, tmp_path: partial(client.poller, "job_demo"),
    "Client.resume": lambda client, tmp_path: partial(client.resume, str(client.poller("job_demo"))),
    "Poller.poll": lambda client, tmp_path: client.poller("job_demo").poll,
    "read_batch_list": lambda client, tmp_path: partial(agentjob.read_batch_list, tmp_path),
    "write_batch_report": lambda client, tmp_path: partial(agentjob.write_batch_report, tmp_path, tmp_path),
}


def parameters_of(name):
    """The names of its parameters, and their kinds."""
    if name == "Client":  # of which inspect reads no signature in Python before 3.10
        classes = [node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == name]
        functions = [item for item in classes[0].body if isinstance(item, ast.FunctionDef) and item.name == "__new__"]
        return {name: kind for name, kind, _ in stubbed(functions[0])}
    signature = inspect.signature(functools.reduce(getattr, name.split("."), agentjob))
    return {name: parameter.kind for name, parameter in signature.parameters.items()}


def keywords_of(name):
    return {name for name, kind in parameters_of(name).items() if kind is inspect.Parameter.KEYWORD_ONLY}


def test_every_native_method_with_keywords_is_called_here():
    named = [mark.id for mark in native()]
    assert {name for name in named if keywords_of(name)} == set(CALLS) - {"Client"}


@pytest.mark.parametrize("name", CALLS)
def test_a_native_method_takes_the_keywords_of_its_signature_and_no_others(name, client, emulator, tmp_path):
    call = CALLS[name](client, tmp_path)
    for keyword in keywords_of(name):
        with pytest.raises((TypeError, agentjob.InvalidArgumentError), match=rf"\b{keyword} must be "):
            call(**{keyword: object()})
    for keyword in set().union({"tiemout", "keywords"}, *map(keywords_of, CALLS)) - set(parameters_of(name)):
        with pytest.raises(TypeError) as caught:
            call(**{keyword: None})
        called = "Client.__new__" if name == "Client" else name
        assert str(caught.value) == f"{called}() got an unexpected keyword argument '{keyword}'"
    assert emulator.ledger() == []


def test_help_shows_the_documentation_and_the_defaults_of_the_stub():
    assert "settle: for how many seconds" in agentjob.Client.wait.__doc__
    signature = inspect.signature(agentjob.Client.send_all)
    assert signature.parameters["grace"].default == 5.0 and signature.return_annotation is agentjob.Batch
    assert inspect.signature(agentjob.Client.wait).parameters["lateness"].annotation == typing.Optional[float]
    assert "lateness: " in pydoc.render_doc(agentjob.Client.wait, renderer=pydoc.plaintext)


def functions():
    """Every method, property and function that is written in Python."""
    for cls in IN_PYTHON:
        for name, member in vars(cls).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if inspect.isfunction(function):
                yield pytest.param(function, id=f"{cls.__name__}.{name}")
    for module in (aio, testing, types):
        for name in module.__all__:
            if inspect.isroutine(getattr(module, name)):
                yield pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")


@pytest.mark.parametrize("function", list(functions()))
def test_each_argument_of_a_function_in_python_has_a_type_that_exists(function):
    names = set(inspect.signature(function).parameters) - {"self", "cls"}
    assert (names | {"return"}) - set(typing.get_type_hints(function)) == set()


def native():
    """Every public method and function that is written in Rust."""
    for cls in NATIVE:
        for name, member in vars(cls).items():
            if not name.startswith("_") and inspect.isroutine(member) and not inspect.isdatadescriptor(member):
                yield pytest.param(member, id=f"{cls.__name__}.{name}")
    for name in agentjob.__all__:
        if callable(getattr(agentjob, name)) and not inspect.isclass(getattr(agentjob, name)):
            yield pytest.param(getattr(agentjob, name), id=name)


@pytest.mark.parametrize("function", list(native()))
def test_each_argument_of_a_native_method_has_a_type(function):
    signature, hints = inspect.signature(function), typing.get_type_hints(function)
    names = set(signature.parameters) - {"self"}
    assert set(hints) == names | {"return"}
    assert not any(isinstance(hint, str) for hint in hints.values())
    assert {name: signature.parameters[name].annotation for name in names} == {name: function.__annotations__[name] for name in names}
    assert pickle.loads(pickle.dumps(function)) is function
    assert weakref.ref(function)() is function and function.__name__ in repr(function)


def test_a_method_of_an_object_has_the_hints_of_its_class(client):
    hints = typing.get_type_hints(client.wait)
    assert hints == typing.get_type_hints(agentjob.Client.wait)
    assert (hints["job_id"], hints["return"]) == (str, types.Job)
    assert hints["cancel"] == typing.Optional[agentjob.CancelToken]
    assert "self" not in inspect.signature(client.wait).parameters
    assert client.wait == client.wait and client.wait.__name__ == "wait" and client.wait.__doc__ == agentjob.Client.wait.__doc__


def test_a_method_is_called_through_its_class_too(client):
    assert agentjob.Client.get_job(client, "job_demo")["id"] == "job_demo"
    with pytest.raises(TypeError):
        agentjob.Client.get_job("no client", "job_demo")
    with pytest.raises(AttributeError, match="nonsense"):
        agentjob.Client.get_job.nonsense


def test_a_package_without_its_stub_has_signatures_and_no_hints(tmp_path):
    package = pathlib.Path(agentjob.__file__).parent
    shutil.copytree(package, tmp_path / "agentjob", ignore=shutil.ignore_patterns("*.pyi"))
    code = "import sys; sys.path.insert(0, ''); import agentjob, inspect, typing; print(typing.get_type_hints(agentjob.Client.close), inspect.signature(agentjob.Client.close))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "{} (self, /)\n"


@pytest.mark.parametrize("name", types.__all__)
def test_the_hints_of_every_dict_can_be_read(name):
    kind = getattr(types, name)
    if isinstance(kind, type):
        assert typing.get_type_hints(kind)


def test_types_exist_at_runtime_and_name_the_keys_of_a_record(client):
    job = client.get_job("job_demo")
    assert list(job) == list(agentjob.types.Job.__annotations__)
    assert list(job["source"]) == list(agentjob.types.Source.__annotations__)
