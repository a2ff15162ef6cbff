"""Builds the last commit in two folders, and fails unless both give the same bytes: the wheels, the sdist, the crates, the C library as
it is installed, and the Debian packages.

    reproducible.py FOLDER
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Of different lengths, so that a path which is only as long in both shows, too.
FOLDERS = ("a", "another-folder/with-a-longer-name")


#: What would let one build use what the other has compiled, or the settings of a make that runs this.
SHARED = ("CARGO_TARGET_DIR", "CARGO_BUILD_TARGET", "MAKEFLAGS", "MFLAGS")


def run(*command, **options):
    environment = {name: value for name, value in os.environ.items() if name not in SHARED}
    subprocess.run([*map(str, command)], check=True, env=environment, **options)


def build(folder):
    """Everything that ships, from a clone in this folder: {name: digest}."""
    shutil.rmtree(folder, ignore_errors=True)
    run("git", "clone", "--quiet", ROOT, folder)
    made = folder / "build" / "made"
    if shutil.which("dpkg-deb"):
        run("make", "-s", "deb", cwd=folder)
        shutil.copytree(folder / "build" / "packages", made / "packages", symlinks=True)
    else:
        run("make", "-s", "wheels", cwd=folder)
        run("make", "-s", "-C", "ffi-c", "install", f"DESTDIR={made}/packages/root", "PREFIX=/usr", cwd=folder)
    shutil.copytree(folder / "build" / "dist", made / "dist")
    run("make", "-s", "crate-files", cwd=folder)
    (made / "crates").mkdir()
    for crate in (folder / "target" / "package").glob("agentjob-*.crate"):
        shutil.copy(crate, made / "crates")
    run("make", "-s", "sdist", f"SDIST={made}/dist", cwd=folder)
    files = sorted(path for path in made.rglob("*") if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(made)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def main(folder):
    first, second = (build(folder / name) for name in FOLDERS)
    different = sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
    for name, digest in first.items():
        print(f"{digest}  {name}{'   DIFFERENT' if name in different else ''}")
    if different:
        return f"{len(different)} of {len(first)} files differ between two builds of one commit; both are in {folder}"
    shutil.rmtree(folder)
    print(f"{len(first)} files are the same bytes, built in two folders.")
    return 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve()))
