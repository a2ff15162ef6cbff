"""What the wheels in --dist are called, what they hold, what they ask of a system, and that they run."""

import pathlib
import platform
import re
import struct
import sys
import zipfile

import pytest
from conftest import ROOT
from interpreters import VERSIONS, interpreter

#: From 3.9 on; from 3.15 on, with and without the GIL; and 3.14 without it, which has no stable ABI.
INTERPRETERS = ["cp39-abi3", "cp314-cp314t", "cp315-abi3.abi3t"]
PLATFORMS = [
    "manylinux2014_x86_64.manylinux_2_17_x86_64",
    "manylinux2014_aarch64.manylinux_2_17_aarch64",
    "musllinux_1_2_x86_64",
    "musllinux_1_2_aarch64",
    "macosx_11_0_arm64",
    "macosx_11_0_x86_64",
]
#: Built by `make wheels-for`, and not in a release.
WINDOWS = "win_amd64"
#: Which wheel pip takes, and which native module is then loaded.
RUNS = {
    **{version: ("cp39-abi3", ".abi3.so") for version in VERSIONS},
    "3.15": ("cp315-abi3.abi3t", ".abi3t-"),
    "3.14t": ("cp314-cp314t", ".cpython-314t-"),
    "3.15t": ("cp315-abi3.abi3t", ".abi3t-"),
}
MOST_BYTES = 1_900_000
VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.M).group(1)

linux_or_given = pytest.mark.skipif(
    "config.getoption('platforms') == 'here' and sys.platform != 'linux'",
    reason="make wheels builds on Linux",
)


def tags(wheel):
    """`cp39-abi3` and the platform."""
    name, version, python, abi, where = wheel.name[: -len(".whl")].split("-")
    assert (name, version) == ("agentjob", VERSION)
    return f"{python}-{abi}", where


def fits_here(where):
    """Whether a wheel for this platform runs on this machine."""
    machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    system = "macosx" if sys.platform == "darwin" else "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
    return where.startswith(system) and where.replace("arm64", "aarch64").endswith(machine)


@linux_or_given
def test_the_wheels_have_exactly_the_expected_tags(dist, request):
    platforms = PLATFORMS
    built = {tags(wheel) for wheel in dist.glob("*.whl")}
    if request.config.getoption("platforms") == "any":
        # Those of `make wheels-for`.
        (where,) = {where for _, where in built}
        assert where in [*PLATFORMS, WINDOWS]
        assert {interpreter for interpreter, _ in built} == set(INTERPRETERS[:1] if where == WINDOWS else INTERPRETERS)
        return
    if request.config.getoption("platforms") == "here":
        platforms = [where for where in PLATFORMS if where.startswith("manylinux") and where.endswith(platform.machine())]
    expected = {(interpreter, where) for interpreter in INTERPRETERS for where in platforms}
    assert built == expected


def test_it_contains_the_package_and_nothing_else(wheel):
    here = ROOT / "python"
    packages = (here / "agentjob", here / "agentjob_pytest")
    files = [file for package in packages for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    sources = {file.relative_to(here).as_posix() for file in files}
    assert {"agentjob/py.typed", "agentjob/_native.pyi"} <= sources
    info = f"agentjob-{VERSION}.dist-info"
    metadata = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"}
    metadata |= {"licenses/python/THIRD-PARTY-NOTICES", "sboms/agentjob-python.cyclonedx.json"}
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        native = [name for name in names if name.endswith((".so", ".pyd"))]
        assert sorted(names) == sorted(sources | {f"{info}/{name}" for name in metadata} | set(native))
        assert len(native) == 1 and native[0].startswith("agentjob/_native."), native
        for name in sources - {"agentjob/py.typed", "agentjob_pytest/py.typed"}:
            assert archive.read(name), f"{name} is empty"
    interpreter, where = tags(wheel)
    if "linux" in where and interpreter != "cp39-abi3":
        # A Python looks for this name; that of another C library would not be found.
        machine, libc = "aarch64" if where.endswith("aarch64") else "x86_64", "musl" if where.startswith("musllinux") else "gnu"
        assert native[0].endswith(f"t-{machine}-linux-{libc}.so"), native


def test_it_is_small(wheel):
    assert wheel.stat().st_size <= MOST_BYTES


def test_an_index_shows_where_its_repository_is(wheel):
    with zipfile.ZipFile(wheel) as archive:
        head = archive.read(f"agentjob-{VERSION}.dist-info/METADATA").decode().split("\n\n")[0]
    repository = re.search(r'^repository = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.M)[1]
    shown = dict(re.findall("^Project-URL: (.*), (.*)$", head, re.M))
    assert shown.pop("Repository") == repository and sorted(shown) == ["Changelog", "Documentation"]
    for link in shown.values():
        start, _, page = link.partition("/blob/main/")
        assert start == repository and (ROOT / page).is_file(), link
    assert re.search("^Keywords: .*agent", head, re.M)


def test_its_metadata_matches_its_name_and_requires_no_other_package(wheel):
    interpreter, where = tags(wheel)
    python, abis = interpreter.split("-")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"agentjob-{VERSION}.dist-info/METADATA").decode()
        said = re.findall(r"^Tag: (.*)$", archive.read(f"agentjob-{VERSION}.dist-info/WHEEL").decode(), re.M)
    assert set(said) == {f"{python}-{abi}-{tag}" for abi in abis.split(".") for tag in where.split(".")}
    head = metadata.split("\n\n")[0]
    assert "\nRequires-Python: >=3.9\n" in head
    assert "\nLicense-Expression: MIT OR Apache-2.0\n" in head
    assert all("extra ==" in wanted for wanted in re.findall("^Requires-Dist: .*", head, re.M))


def needed_versions(elf):
    """The symbol versions that a 64-bit little-endian ELF file needs, by library, from its .gnu.version_r."""
    assert elf[:6] == b"\x7fELF\x02\x01"
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQII", elf, table + index * size) for index in range(count)]
    found = {}

    def text(strings, name):
        start = sections[strings][4] + name
        return elf[start : elf.index(b"\0", start)].decode()

    for _, kind, _, _, need, _, strings, needs in sections:
        if kind != 0x6FFFFFFE:  # SHT_GNU_verneed
            continue
        for _ in range(needs):
            _, versions, library, first, following = struct.unpack_from("<HHIII", elf, need)
            of_it = found.setdefault(text(strings, library), set())
            at = need + first
            for _ in range(versions):
                _, _, _, name, step = struct.unpack_from("<IHHII", elf, at)
                of_it.add(text(strings, name))
                at += step
            need += following
    return found


def native_elf(wheel):
    """The native module; a skip where it is no ELF file."""
    if "linux" not in tags(wheel)[1]:
        pytest.skip("no ELF file")
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith(".so")))


def newest(needed, prefix):
    """The newest version with this prefix that is needed of any library; (0,) for none."""
    versions = {version for of_it in needed.values() for version in of_it if version.startswith(prefix)}
    return max((tuple(map(int, version[len(prefix) :].split("."))) for version in versions), default=(0,))


def test_it_runs_on_the_systems_that_its_name_promises(wheel):
    """The ceilings are PEP 599's and PEP 600's, as auditwheel holds them."""
    needed = needed_versions(native_elf(wheel))
    if tags(wheel)[1].startswith("musllinux"):
        assert newest(needed, "GLIBC_") == (0,)
    else:
        assert (2,) < newest(needed, "GLIBC_") <= (2, 17)
        assert newest(needed, "GCC_") <= (4, 8)


def test_its_unwinder_is_the_one_that_ends_a_thread(wheel):
    """CPython up to 3.13 ends a daemon thread with pthread_exit, which with glibc unwinds through the module by the system's libgcc_s: a
    second unwinder in it is a crash at the program's end. musl's pthread_exit does not unwind, and its systems need not have libgcc_s."""
    elf = native_elf(wheel)
    if tags(wheel)[1].startswith("manylinux"):
        assert b"libunwind: " not in elf, "LLVM's unwinder is linked in"
        assert "GCC_3.0" in needed_versions(elf).get("libgcc_s.so.1", ())
    else:
        assert b"libunwind: " in elf and b"libgcc_s" not in elf


@linux_or_given
@pytest.mark.skipif("config.getoption('platforms') == 'any'", reason="any wheels may be there")
@pytest.mark.parametrize("version", RUNS)
def test_it_runs(version, dist, environment):
    python = interpreter(version)
    chosen, suffix = RUNS[version]
    if python is None:
        pytest.skip(f"there is no Python {version} here to run the {chosen} wheel")
    assert [wheel for wheel in dist.glob("*.whl") if tags(wheel)[0] == chosen and fits_here(tags(wheel)[1])]
    clean = environment(python)
    clean.install("--no-index", "--find-links", dist, "agentjob")
    assert suffix in clean.does_the_main_job()
