#!/usr/bin/env python3
"""Writes the tables of a check from its rows: table.py ROWS.json RESULTS.md"""

import json
import pathlib
import sys

#: Four engines with two patterns, and workers on several machines.
ROWS = 9


def main():
    rows = json.loads(pathlib.Path(sys.argv[1]).read_text())
    if len(rows) < ROWS:
        sys.exit(f"{len(rows)} of {ROWS} rows: an engine was skipped, so there is no table")
    machines = {name: row for name, row in rows.items() if "machines" in row}
    one = {name: row for name, row in rows.items() if name not in machines}
    lines = [
        "# Killed workers",
        "",
        f"What `make engines` found on {max(row['date'] for row in rows.values())}; [README.md](README.md) says what it does and what the columns mean.",
        "",
        *outcomes(one),
        "",
        "## Workers on several machines, which are cut off from the store now and then",
        "",
        *outcomes(machines),
        "",
        "## Where the workers were killed",
        "",
        "| point | " + " | ".join(rows) + " |",
        "| --- |" + " ---: |" * len(rows),
    ]
    points = sorted({point for row in rows.values() for point in row["killed at"]})
    lines += [f"| {point} | " + " | ".join(str(row["killed at"].get(point, "")) for row in rows.values()) + " |" for point in points]
    pathlib.Path(sys.argv[2]).write_text("\n".join(lines) + "\n")


def outcomes(rows):
    cut_off = ["cut off"] if any("machines" in row for row in rows.values()) else []
    columns = ["messages", "workers killed", *cut_off, "arrived twice", "lost", "unknown (of these arrived)", "slots held while waiting"]
    yield "| engine | pattern | " + " | ".join(columns) + " |"
    yield "| --- | --- |" + " ---: |" * len(columns)
    for row in sorted(rows.values(), key=lambda row: (row["engine"], row["pattern"] == "agentjob")):
        unknown = f"{row['unknown']} ({row['unknown that arrived']})" if row["pattern"] == "agentjob" else "not known"
        where = f", {row['machines']} machines" if "machines" in row else ""
        figures = [row["messages"], row["kills"], *(row[name] for name in cut_off), row["duplicates"], row["lost"], unknown]
        yield "| " + " | ".join(map(str, [f"{row['engine']} {row['version']}{where}", row["pattern"], *figures, f"{row['slots held']} of {row['slots']}"])) + " |"


if __name__ == "__main__":
    main()
