"""Which file imports which, in a Rust crate and in a Python package, read from the sources."""

import ast
import re

RUST_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
RUST_TEXT = re.compile(r'b?"(?:\\.|[^"\\])*"', re.S)
RUST_TESTS = re.compile(r"#\[cfg\(test\)\]\s*mod\s+\w+\s*\{")
RUST_USE = re.compile(r"\buse\s+([^;]+);")
RUST_PATH = re.compile(r"\b(?:crate|self|super)(?:::\w+)+")


def rust_code(text):
    """The code of a Rust file: without comments, without texts, without the tests at its end."""
    text = RUST_COMMENT.sub("", RUST_TEXT.sub('""', text))
    tests = RUST_TESTS.search(text)
    return text[: tests.start()] if tests else text


def use_tree(tree):
    """`a::{b, c::d}` as `a::b` and `a::c::d`."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        return [re.sub(r"\s+as\s+\w+$", "", tree)]
    head, inside, depth, part, found = tree[:brace], tree[brace + 1 : tree.rfind("}")], 0, "", []
    for character in inside + ",":
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            found += [head + path for path in use_tree(part)] if part.strip() else []
            part = ""
        else:
            part += character
    return found


def rust_modules(files):
    """The file of each module of a crate, by the module's path: `("http", "tls")` is `http/tls.rs`. `files` are names below `src`."""
    modules = {}
    for name in files:
        parts = tuple(name[: -len(".rs")].split("/"))
        if parts[0] == "bin":
            continue
        if parts[-1] == "mod" or parts in (("lib",), ("main",)):
            parts = parts[:-1]
        if parts or name == "lib.rs" or "lib.rs" not in files:
            modules[parts] = name
    return modules


def rust_imports(files):
    """The files that each file of a crate imports. `files` are the texts, by their names below `src`."""
    modules = rust_modules(files)
    imports = {}
    for module, name in modules.items():
        code = rust_code(files[name])
        paths = [path for tree in RUST_USE.findall(code) for path in use_tree(tree)]
        paths += RUST_PATH.findall(code)
        found = {modules[where] for where in (rust_module(path, module, modules) for path in paths) if where in modules}
        imports[name] = found - {name}
    return imports


def rust_module(path, module, modules):
    """The module that a path names, seen from a file; None for another crate's."""
    first, *rest = [segment.strip() for segment in path.split("::")]
    if first == "crate":
        where = ()
    elif first == "self":
        where = module
    elif first == "super":
        where = module[:-1]
        while rest and rest[0] == "super":
            where, rest = where[:-1], rest[1:]
    elif module + (first,) in modules:
        where, rest = module, [first, *rest]
    else:
        return None
    for segment in rest:
        if where + (segment,) not in modules:
            break
        where += (segment,)
    return where


def python_modules(files, package):
    """The file of each module, by its dotted name; `package` is "" for scripts that import their neighbours."""
    modules = {}
    for name in files:
        parts = name[: -len(".py")].split("/")
        if parts[-1] == "__init__":
            parts.pop()
        modules[".".join(([package] if package else []) + parts)] = name
    return modules


def python_imports(files, package):
    """The files that each file of a package imports, those that only a type checker reads excepted."""
    modules = python_modules(files, package)
    imports = {}
    for module, name in modules.items():
        home = module.split(".") if name.endswith("__init__.py") else module.split(".")[:-1]
        tree = ast.parse(files[name], name)
        imports[name] = {modules[found] for found in python_names(tree, home) if found in modules} - {name}
    return imports


def python_names(tree, home):
    """The dotted names that a module imports; `from a import b` is `a.b`, which may be a module, and `a` where it is not."""
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped.update(inner for statement in node.body for inner in ast.walk(statement))
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = home[: len(home) - node.level + 1] if node.level else []
            base = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{base}.{alias.name}" if base else alias.name
            if base:
                yield base


def circles(imports):
    """The groups of files that import each other, directly or through others."""
    order, low, stack, groups = {}, {}, [], []

    def visit(name):
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in sorted(imports.get(name, ())):
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                groups.append(sorted(group))

    for name in sorted(imports):
        if name not in order:
            visit(name)
    return sorted(groups)
