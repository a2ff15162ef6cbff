"""The crates that a registry can take: what is in them, and that every Rust which Cargo.toml allows can build what they depend on."""

import json
import re

from conftest import ROOT, run

CRATES = {"core": "agentjob-core", "ffi-c": "agentjob-ffi-c"}
#: What cargo adds to every crate, and what is in both of ours.
EVERY = {".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig", "LICENSE-APACHE", "LICENSE-MIT", "README.md"}
HEADERS = {f"include/{file.name}" for file in (ROOT / "include").iterdir()}


def metadata():
    return json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu", cwd=ROOT))


def listed(crate):
    return set(run("cargo", "package", "--list", "--allow-dirty", "--package", crate, cwd=ROOT).split())


def sources(folder):
    return {file.relative_to(ROOT / folder).as_posix() for file in (ROOT / folder / "src").rglob("*") if file.is_file()}


def test_a_crate_contains_its_sources_licences_and_readme_and_nothing_else():
    assert listed("agentjob-core") == EVERY | sources("core")
    assert listed("agentjob-ffi-c") == EVERY | sources("ffi-c") | HEADERS | {"build.rs", "THIRD-PARTY-NOTICES"}


def test_a_registry_has_what_it_shows_of_a_crate():
    packages = {package["name"]: package for package in metadata()["packages"]}
    for folder, crate in CRATES.items():
        package = packages[crate]
        assert package["publish"] is None, f"{crate} may not be published"
        for field in ("description", "license", "repository", "readme", "keywords", "categories", "rust_version"):
            assert package[field], f"{crate} has no {field}"
        for link in re.findall(r"\]\(([^)]+)\)", (ROOT / folder / "README.md").read_text("utf-8")):
            assert link.startswith("https://"), f"{folder}/README.md: {link} leads nowhere on the registry's page"
            assert "github.com" not in link or link.startswith(package["repository"])
        for dependency in package["dependencies"]:
            if dependency["kind"] is None:
                assert dependency["req"] != "*", f"{crate}: {dependency['name']} has no version"
            if dependency["name"] == "agentjob-core":
                assert dependency["req"] == f"^{package['version']}"
    private = {name for name, package in packages.items() if package["source"] is None and package["publish"] == []}
    assert {"agentjob-emulator", "agentjob-python", "agentjob-faults"} <= private


def test_the_example_of_the_readme_is_one_that_the_documentation_runs():
    (example,) = re.findall(r"^```rust,no_run\n(.*?)^```", (ROOT / "core/README.md").read_text("utf-8"), re.M | re.S)
    assert example in (ROOT / "docs/reference/rust.md").read_text("utf-8")


def test_no_dependency_needs_a_newer_rust_than_we_promise():
    known = metadata()
    oldest = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.M)[1]

    def number(version):
        return [int(part) for part in version.split(".")] + [0] * (3 - version.count(".") - 1)

    newer = {package["name"]: package["rust_version"] for package in known["packages"] if number(package["rust_version"] or "0") > number(oldest)}
    assert newer == {}
