"""Whether a folder holds all of a release, and whether its parts agree about the version. `make release` runs it."""

import re

import pytest
from conftest import ROOT, run

VERSION = re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.M)[1]


@pytest.fixture
def release(request):
    folder = request.config.getoption("release")
    if folder is None:
        pytest.skip("make release builds a release and checks it with --release FOLDER")
    return folder


@pytest.mark.parametrize(
    "pattern, count",
    [
        ("agentjob-{}-cp39-abi3-*.whl", 1),
        ("agentjob-{}-cp314-cp314t-*.whl", 1),
        ("agentjob-{}-cp315-abi3.abi3t-*.whl", 1),
        ("agentjob-{}.tar.gz", 1),
        ("agentjob-core-{}.crate", 1),
        ("agentjob-ffi-c-{}.crate", 1),
        ("*_{}_*.deb", 3),
        ("*.json", 2),
    ],
)
def test_a_release_has_every_part_with_its_version(release, pattern, count):
    assert len(list(release.glob(pattern.format(VERSION)))) == count


def test_a_release_has_no_other_file(release):
    others = [file.name for file in release.iterdir() if VERSION not in file.name and file.suffix != ".json"]
    assert others == []


def test_the_version_is_the_same_everywhere():
    header = (ROOT / "include/agentjob.h").read_text("utf-8")
    assert f'#define AGENTJOB_VERSION "{VERSION}"' in header
    assert f'agentjob-core = {{ path = "core", version = "{VERSION}" }}' in (ROOT / "Cargo.toml").read_text("utf-8")
    assert f"\n## {VERSION}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_a_release_is_a_commit_and_its_changelog_has_a_date(release):
    assert run("git", "-C", ROOT, "status", "--porcelain") == "", "commit first: a release is a commit"
    heading = re.search(rf"^## {re.escape(VERSION)}.*$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)[0]
    assert re.search(r"\d{4}-\d\d-\d\d", heading), f"CHANGELOG.md says “{heading}”: write the day of the release there"
