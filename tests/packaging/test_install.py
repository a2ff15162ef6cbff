"""pip install from a fresh clone and from the sdist, each into an environment with nothing in it."""

import os
import pathlib
import subprocess
import sys
import tarfile

import pytest
from conftest import ROOT, clean_environment, run
from test_upload import needs

#: What the sdist holds besides the packages that the wheel is built from.
TOP = {"Cargo.toml", "Cargo.lock", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "pyproject.toml"}
PACKAGES = ["core", "python", "tests/emulator"]


@pytest.fixture(scope="session")
def clone(tmp_path_factory):
    """The last commit, as a user clones it. What is not committed is not in it."""
    if subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True).returncode:
        pytest.skip("this is no git repository")
    folder = tmp_path_factory.mktemp("clone") / "agentjob"
    run("git", "clone", "--quiet", ROOT, folder)
    run("cargo", "fetch", "--locked", cwd=folder)
    yield folder
    # Every run has folders of its own, and cargo would keep what it built in each of them.
    members = [part for name in PACKAGES for part in ("--package", f"agentjob-{name.split('/')[-1]}")]
    run("cargo", "clean", "--quiet", "--offline", "--release", *members, cwd=folder)


@pytest.fixture(scope="session")
def sdist(clone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    run("maturin", "sdist", "--out", folder, cwd=clone)
    (archive,) = folder.iterdir()
    return archive


def test_pip_installs_a_fresh_clone(clone, environment):
    clean = environment()
    clean.install(clone)
    assert clean.does_the_main_job().startswith("_native.")


def test_the_sdist_contains_the_sources_of_the_package_and_nothing_else(clone, sdist):
    tracked = run("git", "-C", clone, "ls-files", *PACKAGES, ":!core/tests", ":!core/examples").split()
    with tarfile.open(sdist) as archive:
        names = [pathlib.PurePosixPath(name) for name in archive.getnames()]
        (top,) = {name.parts[0] for name in names}
        members = archive.extractfile(f"{top}/Cargo.toml").read().decode()
    assert sdist.name == f"{top}.tar.gz"
    assert {str(name.relative_to(top)) for name in names} == TOP | {"PKG-INFO"} | set(tracked)
    assert f"members = [{', '.join(f'{name!r}' for name in PACKAGES)}]".replace("'", '"') in members


@needs["twine"]
def test_an_index_takes_the_sdist_and_can_show_its_readme(sdist):
    run(sys.executable, "-m", "twine", "check", "--strict", sdist)


def test_pip_installs_the_sdist_while_cargo_is_offline(sdist, environment):
    clean = environment()
    clean.install(sdist, CARGO_NET_OFFLINE="true")
    assert clean.does_the_main_job().startswith("_native.")


def test_the_sdist_builds_from_vendored_crates(sdist, tmp_path):
    """The way of docs/packages.md for a machine with no crates at all: an empty CARGO_HOME, and cargo offline."""
    run("tar", "-xzf", sdist, "-C", tmp_path)
    (source,) = tmp_path.iterdir()
    (source / ".cargo").mkdir()
    (source / ".cargo" / "config.toml").write_text(run("cargo", "vendor", "--offline", cwd=source))
    empty = clean_environment(
        CARGO_HOME=str(tmp_path / "home"),
        CARGO_TARGET_DIR=str(tmp_path / "target"),
        CARGO_NET_OFFLINE="true",
        RUSTUP_HOME=os.environ.get("RUSTUP_HOME") or str(pathlib.Path.home() / ".rustup"),
    )
    run("cargo", "check", "--quiet", "--package", "agentjob-python", cwd=source, env=empty)
