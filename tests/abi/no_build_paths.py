"""No file that ships contains a path of the machine that built it: of this one, or of another whose builds are in a home folder.

    no_build_paths.py FILE...        libraries, archives, programs, wheels
"""

import os
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = pathlib.Path.home()
PLACES = [ROOT, os.environ.get("CARGO_HOME", HOME / ".cargo"), os.environ.get("RUSTUP_HOME", HOME / ".rustup")]
HOMES = rb"/(?:home|Users)/[\w.-]+/"
PATH = re.compile(b"(" + b"|".join([*(re.escape(os.fsencode(place)) for place in PLACES), HOMES]) + rb")[\x20-\x7e]{0,60}")


def contents(file):
    """The file's parts with their names: the members of a wheel, or the file itself."""
    if file.endswith(".whl"):
        with zipfile.ZipFile(file) as wheel:
            for name in wheel.namelist():
                yield f"{file}: {name}", wheel.read(name)
    else:
        yield file, pathlib.Path(file).read_bytes()


def paths_in(file):
    """A sentence for each part of the file that contains such paths."""
    wrong = []
    for name, content in contents(file):
        found = sorted({match.group().decode() for match in PATH.finditer(content)})
        if found:
            wrong.append(f"{name} contains {len(found)} paths of the machine that built it, like {found[0]}")
    return wrong


if __name__ == "__main__":
    wrong = [sentence for file in sys.argv[1:] for sentence in paths_in(file)]
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    sys.exit(1 if wrong or len(sys.argv) < 2 else 0)
