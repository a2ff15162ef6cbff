"""The type hints, the signatures and the documentation of methods and functions that are written in Rust: those of the package's stub,
which editors and type checkers read, too.

Loaded when a program asks for one. Without the stub, which a bundler may leave out, there are no hints, and the rest is short.
"""

import ast
import inspect
import pathlib
import typing

#: What `functions` returned, once it was asked for.
FOUND: dict = {}


def annotations(built_in):
    """The annotations of a built-in method or function. They are types, not text."""
    function = of_stub(built_in)
    return function.__annotations__ if function else {}


def doc(built_in):
    return (of_stub(built_in) or built_in).__doc__


def signature(built_in):
    return inspect.signature(of_stub(built_in) or built_in)


def of_stub(built_in):
    """What the stub has of this built-in method or function: a function of Python, with the same arguments."""
    if not FOUND:
        FOUND.update(functions())
    return FOUND.get(built_in.__qualname__)


def functions():
    """Every public method and function of the stub, by its qualified name."""
    try:
        stub = ast.parse(pathlib.Path(__file__).with_name("_native.pyi").read_text("utf-8"))
    except OSError:
        return {}
    names = names_of(stub)
    found = {}
    for node in stub.body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("_") and not function.decorator_list:
                prefix = f"{node.name}." if node is not function else ""
                found[prefix + function.name] = made(function, names)
    return found


def names_of(stub):
    """What the stub imports and defines."""
    from . import _native

    names = {"__package__": __package__, "Union": typing.Union, **vars(_native)}
    for node in stub.body:
        # typing_extensions, which need not be installed, has only what special methods return.
        if isinstance(node, ast.ImportFrom) and node.module != "typing_extensions":
            execute(node, names, names)
    return names


def made(function, names):
    """A function of the stub, which is a function of Python but for its annotations in Python before 3.10."""
    own = {}
    execute(ast.fix_missing_locations(Unions().visit(function)), names, own)
    return own[function.name]


def execute(statement, names, own):
    # Without optimization: `python -OO` drops docstrings.
    exec(compile(ast.Module([statement], []), "_native.pyi", "exec", optimize=0), names, own)


class Unions(ast.NodeTransformer):
    """Writes `A | B` as `Union[A, B]`, which Python 3.9 can evaluate, too."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        both = ast.Tuple([node.left, node.right], ast.Load())
        return ast.Subscript(ast.Name("Union", ast.Load()), both, ast.Load())
