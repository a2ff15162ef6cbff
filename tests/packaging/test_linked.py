"""The wheels in --dist say what they are made of: the bill of materials and the licences of exactly the crates that are linked."""

import json
import re
import sys
import zipfile

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "ffi-c" / "packaging"))
from linked import IN_STD, linked, named_in  # noqa: E402

#: rustc's name for the platform of a wheel.
PLATFORMS = {
    "manylinux": "{}-unknown-linux-gnu",
    "musllinux": "{}-unknown-linux-musl",
    "macosx": "{}-apple-darwin",
    "win": "{}-pc-windows-gnu",
}


def platform(wheel):
    where = wheel.stem.split("-")[4]
    machine = "aarch64" if where.endswith(("aarch64", "arm64")) else "x86_64"
    return next(name.format(machine) for prefix, name in PLATFORMS.items() if where.startswith(prefix))


def read(wheel, ending):
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith(ending)))


def native(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(name for name in archive.namelist() if name.startswith("agentjob/_native") and not name.endswith(".pyi")))


def billed(wheel):
    bill = json.loads(read(wheel, "/sboms/agentjob-python.cyclonedx.json"))
    return bill, {(part["name"], part["version"]) for part in bill["components"]}


def test_its_bill_of_materials_lists_what_is_linked_and_nothing_else(wheel):
    bill, parts = billed(wheel)
    crates = {part for part in linked("agentjob-python", platform(wheel)) if part[0] != "agentjob-python"}
    assert {part for part in parts if part[0] not in ("rust-std", "libunwind")} == crates
    assert ("libunwind" in {name for name, _ in parts}) == (b"libunwind: " in native(wheel))
    assert not {"syn", "quote", "cc", "rcgen", "pyo3-macros"} & {name for name, _ in parts}
    assert bill["metadata"]["component"]["purl"].startswith("pkg:pypi/agentjob@")
    assert {node["ref"] for node in bill["dependencies"]} == {part["bom-ref"] for part in [*bill["components"], bill["metadata"]["component"]]}


def test_its_bill_of_materials_names_every_crate_that_the_module_itself_names(wheel):
    crates, in_std = named_in(native(wheel))
    if not crates:
        pytest.skip("the module names no crate: it was built with other paths")
    assert crates <= billed(wheel)[1]
    assert in_std <= IN_STD


def test_it_has_the_licence_of_every_linked_crate(wheel):
    notices = read(wheel, "/licenses/python/THIRD-PARTY-NOTICES").decode()
    noticed = set(re.findall(r"^=+\n(\S+) (\d\S*) \(.*\)\n.*\n\n\S", notices, re.M))
    ours = {part for part in billed(wheel)[1] if part[0].startswith("agentjob-") or part[0] in ("rust-std", "libunwind")}
    assert billed(wheel)[1] - ours <= noticed


def test_no_file_of_it_contains_a_path_of_the_machine_that_built_it(wheel):
    sys.path.insert(0, str(ROOT / "tests" / "abi"))
    from no_build_paths import paths_in

    assert paths_in(str(wheel)) == []
