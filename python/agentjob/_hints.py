"""The type hints of methods and functions that are written in Rust: those of the package's stub, which type checkers read, too.

Loaded when a program asks for hints. Without the stub, which a bundler may leave out, there are none.
"""

import ast
import inspect
import pathlib
import typing

#: What `all_hints` returned, once it was asked for.
FOUND: dict = {}


def hints(qualified_name):
    """The annotations of a method or function, such as "Client.wait". They are types, not text."""
    if not FOUND:
        FOUND.update(all_hints())
    return FOUND.get(qualified_name, {})


def signature(built_in, annotations):
    """The signature of a built-in method or function, with its annotations."""
    bare = inspect.signature(built_in)
    parameters = [
        parameter.replace(annotation=annotations.get(name, parameter.annotation)) for name, parameter in bare.parameters.items()
    ]
    return bare.replace(parameters=parameters, return_annotation=annotations.get("return", bare.return_annotation))


def all_hints():
    """The annotations of every public method and function of the stub, by its qualified name."""
    try:
        stub = ast.parse(pathlib.Path(__file__).with_name("_native.pyi").read_text("utf-8"))
    except OSError:
        return {}
    names = names_of(stub)
    found = {}
    for node in stub.body:
        for function in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("_"):
                prefix = f"{node.name}." if node is not function else ""
                found[prefix + function.name] = annotations_of(function, names)
    return found


def names_of(stub):
    """What the stub imports and defines."""
    from . import _native

    names = {"__package__": __package__, "Union": typing.Union, **vars(_native)}
    for node in stub.body:
        # typing_extensions, which need not be installed, has only what special methods return.
        if isinstance(node, ast.ImportFrom) and node.module != "typing_extensions":
            exec(compile(ast.Module([node], []), "_native.pyi", "exec"), names)
    return names


def annotations_of(function, names):
    given = function.args
    annotated = {argument.arg: argument.annotation for argument in given.posonlyargs + given.args + given.kwonlyargs}
    annotated["return"] = function.returns
    return {name: evaluated(annotation, names) for name, annotation in annotated.items() if annotation is not None}


def evaluated(annotation, names):
    expression = ast.fix_missing_locations(ast.Expression(Unions().visit(annotation)))
    return eval(compile(expression, "_native.pyi", "eval"), names)


class Unions(ast.NodeTransformer):
    """Writes `A | B` as `Union[A, B]`, which Python 3.9 can evaluate, too."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        both = ast.Tuple([node.left, node.right], ast.Load())
        return ast.Subscript(ast.Name("Union", ast.Load()), both, ast.Load())
