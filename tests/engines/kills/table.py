#!/usr/bin/env python3
"""Writes the table of a check from its rows: table.py ROWS.json RESULTS.md"""

import json
import pathlib
import sys


def main():
    rows = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if len(rows) < 8:
        sys.exit(f"{len(rows)} of 8 rows: an engine was skipped, so there is no table")
    lines = [
        "# Killed workers",
        "",
        "What `make engines` found; `tests/engines/README.md` says what it does and what the columns mean.",
        "",
        "| engine | pattern | messages | workers killed | arrived twice | lost | unknown (of these arrived) | slots held while waiting |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in sorted(rows.values(), key=lambda row: (row["engine"], row["pattern"] == "agentjob")):
        unknown = f"{row['unknown']} ({row['unknown that arrived']})" if row["pattern"] == "agentjob" else "not known"
        cells = [row["engine"], row["pattern"], row["messages"], row["kills"], row["duplicates"], row["lost"], unknown, f"{row['slots held']} of {row['slots']}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    lines += ["", "Where the workers were killed:", "", "| point | " + " | ".join(rows) + " |", "| --- |" + " ---: |" * len(rows)]
    points = sorted({point for row in rows.values() for point in row["killed at"]})
    lines += [f"| {point} | " + " | ".join(str(row["killed at"].get(point, "")) for row in rows.values()) + " |" for point in points]
    pathlib.Path(sys.argv[2]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
