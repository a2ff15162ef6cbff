"""What the wheels in --dist are called, what they hold, what they ask of a system, and that they run."""

import json
import os
import pathlib
import platform
import re
import shutil
import struct
import subprocess
import sys
import zipfile

import pytest
from conftest import ROOT

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
#: Which wheel pip takes, and which native module is then loaded.
RUNS = {
    **{f"3.{minor}": ("cp39-abi3", ".abi3.so") for minor in range(9, 15)},
    "3.15": ("cp315-abi3.abi3t", ".abi3t-"),
    "3.14t": ("cp314-cp314t", ".cpython-314t-"),
    "3.15t": ("cp315-abi3.abi3t", ".abi3t-"),
}
MOST_BYTES = 1_500_000
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
def test_no_tag_is_missing_and_none_is_new(dist, request):
    platforms = PLATFORMS
    if request.config.getoption("platforms") == "here":
        platforms = [where for where in PLATFORMS if where.startswith("manylinux") and where.endswith(platform.machine())]
    expected = {(interpreter, where) for interpreter in INTERPRETERS for where in platforms}
    assert {tags(wheel) for wheel in dist.glob("*.whl")} == expected


def test_it_holds_the_package_and_nothing_else(wheel):
    here = ROOT / "python"
    files = [file for file in (here / "agentjob").rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    sources = {file.relative_to(here).as_posix() for file in files}
    assert {"agentjob/py.typed", "agentjob/_native.pyi"} <= sources
    info = f"agentjob-{VERSION}.dist-info"
    metadata = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE-APACHE", "licenses/LICENSE-MIT"}
    metadata.add("sboms/agentjob-python.cyclonedx.json")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        native = [name for name in names if name.endswith(".so")]
        assert sorted(names) == sorted(sources | {f"{info}/{name}" for name in metadata} | set(native))
        assert len(native) == 1 and native[0].startswith("agentjob/_native."), native
        for name in sources - {"agentjob/py.typed"}:
            assert archive.read(name), f"{name} is empty"


def test_it_is_small(wheel):
    assert wheel.stat().st_size <= MOST_BYTES


def test_its_metadata_says_what_its_name_says_and_asks_for_no_other_package(wheel):
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


def test_its_bill_of_materials_names_what_was_built_in(wheel):
    with zipfile.ZipFile(wheel) as archive:
        bill = json.loads(archive.read(f"agentjob-{VERSION}.dist-info/sboms/agentjob-python.cyclonedx.json"))
    locked = set(re.findall(r'^name = "(.*)"\nversion = "(.*)"', (ROOT / "Cargo.lock").read_text("utf-8"), re.M))
    parts = {(part["name"], part["version"]) for part in bill["components"]}
    assert {"agentjob-core", "agentjob-emulator", "pyo3", "ring", "rustls", "ureq"} <= {name for name, _ in parts}
    assert parts <= locked


def needed_versions(elf):
    """The symbol versions that a 64-bit little-endian ELF file needs of others, from its .gnu.version_r."""
    assert elf[:6] == b"\x7fELF\x02\x01"
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    sections = [struct.unpack_from("<IIQQQQII", elf, table + index * size) for index in range(count)]
    found = set()
    for _, kind, _, _, need, _, strings, needs in sections:
        if kind != 0x6FFFFFFE:  # SHT_GNU_verneed
            continue
        for _ in range(needs):
            _, versions, _, first, following = struct.unpack_from("<HHIII", elf, need)
            at = need + first
            for _ in range(versions):
                _, _, _, name, step = struct.unpack_from("<IHHII", elf, at)
                start = sections[strings][4] + name
                found.add(elf[start : elf.index(b"\0", start)].decode())
                at += step
            need += following
    return found


def test_it_asks_for_no_newer_glibc_than_its_name_says(wheel):
    where = tags(wheel)[1]
    if "linux" not in where:
        pytest.skip("no ELF file")
    with zipfile.ZipFile(wheel) as archive:
        native = next(name for name in archive.namelist() if name.endswith(".so"))
        needed = needed_versions(archive.read(native))
    glibc = {tuple(map(int, version.split("_")[1].split("."))) for version in needed if version.startswith("GLIBC_")}
    if where.startswith("musllinux"):
        assert not glibc
    else:
        assert glibc and max(glibc) <= (2, 17)


def interpreter(version):
    """The Python of this version: on the PATH, or pyenv's."""
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    named = [shutil.which(f"python{version}"), *pyenv.glob(f"versions/*/bin/python{version}")]
    tell = "import sys; print('%d.%d' % sys.version_info[:2] + ('' if getattr(sys, '_is_gil_enabled', lambda: True)() else 't'))"
    for python in filter(None, named):
        told = subprocess.run([python, "-c", tell], capture_output=True, text=True)
        if told.returncode == 0 and told.stdout.strip() == version:
            return python
    return None


@linux_or_given
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
