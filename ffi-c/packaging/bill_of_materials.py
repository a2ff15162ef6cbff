"""Writes the bill of materials (CycloneDX 1.5) of what ships: the crates that are linked, and nothing else.

    bill_of_materials.py agentjob-ffi-c FILE [PLATFORM]         of the C library
    bill_of_materials.py agentjob-python FILE [PLATFORM]        of the wheel
    bill_of_materials.py --check ARCHIVE PLATFORM               fails unless the C library's has the names of the crates whose objects are in ARCHIVE,
                                                                and the versions that ARCHIVE names: libagentjob.a as it is without optimization at
                                                                link time

PLATFORM is rustc's name for one; without it, this machine's. The same sources give the same bytes: no time, no number, no path.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

from linked import IN_STD, ROOT, STD, linked, named_in, objects_in, packages

#: What each is called outside.
SUBJECTS = {"agentjob-ffi-c": "pkg:generic/libagentjob@{}", "agentjob-python": "pkg:pypi/agentjob@{}"}

#: The compiler that links the wheels for musl brings its unwinder along: libgcc_s is on few such systems.
ZIG = re.search(r"^ziglang==(.*)$", (ROOT / "tests/packaging/requirements.txt").read_text("utf-8"), re.M)[1]
UNWINDER = {"name": "libunwind", "version": f"zig-{ZIG}", "purl": f"pkg:generic/zig@{ZIG}#lib/libunwind"}
#: Linked, and without an object of their own.
WITHOUT_CODE = {"once_cell"}


def compiler():
    said = subprocess.run([os.environ.get("RUSTC", "rustc"), "-vV"], cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
    return dict(re.findall(r"^(\w+): (.*)$", said, re.M))


def component(package, checksums):
    name, version = package["name"], package["version"]
    url = f"pkg:cargo/{name}@{version}"
    about = {"type": "library", "bom-ref": url, "name": name, "version": version}
    if (name, version) in checksums:
        about["hashes"] = [{"alg": "SHA-256", "content": checksums[name, version]}]
    about["licenses"] = [{"expression": re.sub(r"(?<=\w)/(?=\w)", " OR ", package["license"])}]
    about["purl"] = url
    if package["repository"]:
        about["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return about


def bill(crate, platform, rustc):
    uses, known = linked(crate, platform), packages([platform])
    locked = (ROOT / "Cargo.lock").read_text("utf-8")
    checksums = {(name, version): sha for name, version, sha in re.findall(r'^name = "(.*)"\nversion = "(.*)"\n.*\nchecksum = "(.*)"', locked, re.M)}
    parts = {part: component(known[part], checksums) for part in sorted(uses)}
    # The crate at the root is the package itself.
    root = next(part for part in parts if part[0] == crate)
    subject = parts[root]
    subject["purl"] = SUBJECTS[crate].format(root[1])
    subject["bom-ref"] = subject["purl"]
    subject["name"] = re.search(r"/(.*)@", subject["purl"])[1]
    std = {"type": "library", "bom-ref": f"pkg:generic/rust-std@{rustc['release']}", "name": "rust-std", "version": rustc["release"]}
    beside = [{**std, "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": std["bom-ref"]}]
    if crate == "agentjob-python" and "-musl" in platform:
        about = {"type": "library", "bom-ref": UNWINDER["purl"], "licenses": [{"expression": "Apache-2.0 WITH LLVM-exception"}]}
        beside.append({**about, **UNWINDER})
    graph = [{"ref": parts[part]["bom-ref"], "dependsOn": sorted(parts[used]["bom-ref"] for used in uses[part])} for part in parts]
    next(node for node in graph if node["ref"] == subject["bom-ref"])["dependsOn"] += [part["bom-ref"] for part in beside]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject, "properties": [{"name": "agentjob:platform", "value": platform}]},
        "components": [part for part in parts.values() if part is not subject] + beside,
        "dependencies": graph + [{"ref": part["bom-ref"], "dependsOn": []} for part in beside],
    }


def check(archive, platform):
    known, found = packages([platform]), objects_in(archive)
    parts = {(part["name"], part["version"]) for part in bill("agentjob-ffi-c", platform, compiler())["components"]}
    targets = [target for part in parts & known.keys() for target in known[part]["targets"]]
    listed = {target["name"].replace("-", "_") for target in targets if "lib" in target["kind"]}
    surplus = listed - found - WITHOUT_CODE
    missing = found - listed - STD - {name.replace("-", "_") for name in IN_STD} - {"agentjob"}
    # Which of two versions the standard library brought along, the archive doesn't say.
    named = {part for part in named_in(pathlib.Path(archive).read_bytes())[0] if part[0] not in IN_STD}
    if surplus or missing or named - parts:
        lacks = sorted(missing) + [" ".join(part) for part in sorted(named - parts)]
        sys.exit(f"{archive}: the bill of materials lacks {lacks}, and has {sorted(surplus)}, which are not linked")
    print(f"The bill of materials has the {len(listed & found)} crates whose objects are in {archive}, and the {len(named)} versions that it names.")


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "--check":
        sys.exit(check(*sys.argv[2:]))
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in SUBJECTS:
        sys.exit(__doc__)
    rustc = compiler()
    file = pathlib.Path(sys.argv[2])
    file.parent.mkdir(parents=True, exist_ok=True)
    written = bill(sys.argv[1], sys.argv[3] if len(sys.argv) == 4 else rustc["host"], rustc)
    file.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
