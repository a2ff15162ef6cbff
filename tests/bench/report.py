"""Writes RESULTS.md and its plots from the results."""

import overview
import plot
from figures import markdown, number, ours

PLOTS = "plots"
INTRODUCTION = """# How fast it is

Made by `make bench`, which sets up its own environment, runs every entrant in turns over loopback, and writes this page from
`results.json`. `make bench QUICK=1` takes four minutes and is rough, below `build/bench/quick`; `make bench
SECTIONS=warm,threads` runs some sections and keeps the rest; `make bench-check` compares what does not vary from run to run
(system calls, instructions, allocations, sizes, modules) with [the ceilings](ceilings.json).

"""
READING = """**How to read it.** All entrants do the same work against the same service and check the same response.
They run in turns, and the order rotates. A ratio is the median of the runs' own ratios, pair by pair; the *best
peer* is the best of the same language that is not ours. A ratio to it below 1 means that ours takes less (where more is
better, above 1 means that ours does more). Peers run in their best usual configuration: kept connections, no needless
headers, their own JSON helpers. **Ours are bold.**
"""
NO_HELP = """## What was tried and did not help

- Checking a kept connection with `poll` instead of a one-byte `recv` with `MSG_PEEK`: 197 ns against 170 ns. The peek stays.
- Leaving out `getpid`: it costs 100 ns a call, and without it a forked child would go unnoticed.
- `opt-level = 3` for what ships: saves about 2 µs a message, but the C library grew by a fifth, over its ceiling. It stays at `"s"`.
- `opt-level = "z"` for the TLS crates: no smaller under fat LTO. Folding identical functions: 8 KB, and only one linker can.
- Reading a batch's journal lines with derived serde code: 16 KB of code, and slower than searching for the fields, which is safe
  because a checksum covers each line.
- A hash map for a job's record: 7,000 instructions a message. A fixed list of the documented fields replaced it; it borrows its
  texts from the response.
"""


def write(results, folder):
    page = [INTRODUCTION, about_machine(results), READING, "\n", overview.write(results["sections"])]
    plots = folder / PLOTS
    plots.mkdir(exist_ok=True)
    for chapter, (name, section) in enumerate(results["sections"].items(), 1):
        page.append(f"\n## {chapter}. {section['title']}\n\n")
        page.append(f"{section['date']}{', a quick run' if section['quick'] else ''}{elsewhere(section, results)}.\n")
        for index, table in enumerate(section["tables"]):
            file = f"{name}-{index + 1}.svg"
            page.append(f"\n### {table['title']}\n\n")
            if table["about"]:
                page.append(table["about"] + "\n\n")
            (plots / file).write_text(plot.draw(table))
            page.append(f"![{table['title']}]({PLOTS}/{file})\n\n")
            page.append(as_table(table) if table["kind"] == "table" else as_series(table))
    page.append("\n" + NO_HELP)
    (folder / "RESULTS.md").write_text("".join(page))


def about_machine(results):
    machine = results["machine"]
    versions = ", ".join(f"{name} {version.removeprefix(name).strip()}" for name, version in machine["versions"].items())
    room = f"{machine['cores']} cores, {machine['memory_gib']} GiB"
    text = f"""**The machine:** {machine["processor"]}; {room}; {machine["kernel"]}, {machine["c_library"]}.
Service and clients share it.

**Versions:** {versions}.

"""
    return text + "".join(f"SKIPPED: {line}\n\n" for line in results["skipped"])


def elsewhere(section, results):
    """The processor of a section that was not measured on the page's machine."""
    processor = section.get("processor", results["machine"]["processor"])
    return "" if processor == results["machine"]["processor"] else f", on another machine ({processor})"


def as_table(table):
    rows = table["rows"]
    unit = table["unit"]
    tails = any("p99" in row for row in rows)
    floor, peers = any("to_floor" in row for row in rows), any("to_peer" in row for row in rows)
    head = [
        "",
        "runs",
        f"median, {unit}",
        *["p99"] * tails,
        "minimum",
        "maximum",
        *["to the floor"] * floor,
        *["to the best peer"] * peers,
    ]
    lines = []
    for row in rows:
        runs = f"{row['runs']} × {row['samples'] // row['runs']}" if "samples" in row else str(row["runs"])
        line = [named(row["name"]), runs, number(row["median"])]
        if tails:
            line.append(number(row["p99"]))
        line += [number(row["min"]), number(row["max"])]
        if floor:
            line.append(f"{row['to_floor']:.2f}" if "to_floor" in row else "")
        if peers:
            line.append(against(row))
        lines.append(line)
    return markdown(head, lines)


def as_series(table):
    points = table["points"]
    head = [f"by {table['over']}: median (minimum to maximum), {table['unit']}", *points]
    lines = [[named(row["name"]), *[spread(row["cells"].get(point)) for point in points]] for row in table["rows"]]
    text = markdown(head, [*lines, ["runs", *map(str, table["runs"])]])
    for title, cell_text, key in ("to the best peer", against, "to_peer"), (f"to {table['named']}", to_named, "to_named"):
        found = [row for row in table["rows"] if any(key in cell for cell in row["cells"].values())]
        if found:
            rows = [[named(row["name"]), *[cell_text(row["cells"].get(point, {})) for point in points]] for row in found]
            text += "\n" + markdown([title, *points], rows)
    return text


def spread(cell):
    return f"{number(cell['median'])} ({number(cell['min'])} to {number(cell['max'])})" if cell else ""


def to_named(cell):
    return f"{cell['to_named']:.2f}" if "to_named" in cell else ""


def against(cell):
    return f"{cell['to_peer']:.2f} ({cell['peer']})" if "to_peer" in cell else ""


def named(name):
    return f"**{name}**" if ours(name) else name


def plain(table):
    """The same for a terminal."""
    text = as_table(table) if table["kind"] == "table" else as_series(table)
    return f"{table['title']} ({table['unit']})\n{text.replace('**', '')}"
