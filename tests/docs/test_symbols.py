"""Every public symbol of every language has an entry in the site that `make docs` built."""

import importlib
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
PYTHON_MODULES = ("agentjob", "agentjob.aio", "agentjob.errors", "agentjob.testing", "agentjob.types")

pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built: make docs")


def names_of_python():
    """The public names, and the public members of classes that are the class's own."""
    for module in map(importlib.import_module, PYTHON_MODULES):
        for name in module.__all__:
            if name == "__version__":
                continue
            yield name
            thing = getattr(module, name)
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if not member.startswith("_") and (callable(value) or hasattr(value, "__get__")):
                    yield f"{name}.{member}"


def test_every_python_name_has_an_entry():
    page = (SITE / "reference" / "python.html").read_text(encoding="utf-8")
    entries = {".".join(entry.split(".")[-count:]) for entry in re.findall(r'id="(agentjob\.[\w.]+)"', page) for count in (1, 2)}
    names = set(names_of_python())
    assert len(names) > 120
    assert sorted(names - entries) == []


def doxygen(pattern):
    if not (SITE / "c").exists():
        pytest.skip("doxygen is not installed")
    return {path.name: path.read_text(encoding="utf-8", errors="replace") for path in (SITE / "c").glob(pattern)}


def header(name):
    """A header without its comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", (ROOT / "include" / name).read_text(encoding="utf-8"), flags=re.S)


def test_every_c_name_has_an_entry():
    code = header("agentjob.h")
    functions, constants = re.findall(r"\b(agentjob_\w+)\(", code), re.findall(r"^  (AGENTJOB_\w+) = ", code, re.M)
    types = re.findall(r"^typedef (?:struct|enum)? ?\w+ (agentjob_\w+);", code, re.M)
    assert len(functions) > 170 and len(constants) > 60 and len(types) > 12
    page = doxygen("agentjob_8h.html")["agentjob_8h.html"]
    # The entry itself, and not a mention: its name is a link to its place on the page, or a member's name.
    entries = set(re.findall(r'<a class="el" href="agentjob_8h\.html#\w+">(\w+)</a>', page)) | set(re.findall(r'id="\w+"[^>]*></a>(\w+)', page))
    assert sorted({*functions, *constants, *types} - entries) == []


def test_every_cpp_name_has_an_entry():
    pages = doxygen("*agentjob_1_1*.html")
    checked = 0
    for name in ("agentjob.hpp", "agentjob_types.hpp", "agentjob_batch.hpp"):
        for kind, named, body in re.findall(r"^(class|struct) (\w+)[^;{]*\{\n(.*?)^\};", header(name), re.M | re.S):
            page = pages.get(f"{kind}agentjob_1_1{named.replace('_', '__')}.html")
            if page is None and named in ("exception_slot", "freed_by"):  # of the namespace detail
                continue
            assert page, f"{kind} {named} has no page"
            public = body if kind == "struct" else body.partition("  public:")[2] or body.partition("public:")[2]
            public = re.split(r"^ *private:", public, flags=re.M)[0]
            for member in set(re.findall(r"^    (?! )(?:\[\[nodiscard\]\] )?[\w:<>&*,\[\] ]*?\b(\w+)\(", public, re.M)) - {named, "explicit"}:
                assert re.search(rf">{member}</a>|>{member} *(?:<|\()", page), f"{named}::{member}"
                checked += 1
    assert checked > 100


def test_every_rust_name_has_an_entry():
    lib = re.sub(r"//[^\n]*", "", (ROOT / "core" / "src" / "lib.rs").read_text(encoding="utf-8"))
    lib = re.sub(r"#\[doc\(hidden\)\]\s*pub (?:use|mod) [^;]*;", "", lib)
    names = set()
    for used in re.findall(r"^pub use ([^;]+);", lib, re.M | re.S):
        _, brace, listed = used.partition("{")
        names.update(re.split(r"\W+", listed) if brace else [used.rpartition("::")[2]])
    names -= {""}
    assert len(names) > 60
    page = (SITE / "rust" / "agentjob_core" / "all.html").read_text(encoding="utf-8")
    assert sorted(names - set(re.findall(r">(?:\w+::)*(\w+)</a>", page))) == []
