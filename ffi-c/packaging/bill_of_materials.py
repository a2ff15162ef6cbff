"""Writes the bill of materials (CycloneDX 1.5) of what ships: the crates that are linked, and nothing else.

    bill_of_materials.py agentjob-ffi-c FILE [PLATFORM]         of the C library
    bill_of_materials.py agentjob-python FILE [PLATFORM]        of the wheel

PLATFORM is rustc's name for one; without it, this machine's. The same sources give the same bytes: no time, no number, no path.
"""

import json
import pathlib
import re
import subprocess
import sys

from linked import ROOT, linked, packages

#: What each is called outside.
SUBJECTS = {"agentjob-ffi-c": "pkg:generic/libagentjob@{}", "agentjob-python": "pkg:pypi/agentjob@{}"}


def compiler():
    said = subprocess.run(["rustc", "-vV"], cwd=ROOT, check=True, capture_output=True, encoding="utf-8").stdout
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
    std = {**std, "licenses": [{"expression": "MIT OR Apache-2.0"}], "purl": std["bom-ref"]}
    graph = [{"ref": parts[part]["bom-ref"], "dependsOn": sorted(parts[used]["bom-ref"] for used in uses[part])} for part in parts]
    next(node for node in graph if node["ref"] == subject["bom-ref"])["dependsOn"].append(std["bom-ref"])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject, "properties": [{"name": "agentjob:platform", "value": platform}]},
        "components": [part for part in parts.values() if part is not subject] + [std],
        "dependencies": [*graph, {"ref": std["bom-ref"], "dependsOn": []}],
    }


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in SUBJECTS:
        sys.exit(__doc__)
    rustc = compiler()
    file = pathlib.Path(sys.argv[2])
    file.parent.mkdir(parents=True, exist_ok=True)
    written = bill(sys.argv[1], sys.argv[3] if len(sys.argv) == 4 else rustc["host"], rustc)
    file.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
