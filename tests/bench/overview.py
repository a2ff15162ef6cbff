"""The top of the page: our three faces beside the best peer of their language, and every figure where a peer is ahead."""

from figures import markdown, number

FACES = ["agentjob core", "agentjob C", "agentjob Python"]
SECTIONS = ["warm", "cold", "roots", "tls"]
#: Ratios closer to 1 than this count as equal.
SAME = 0.02


def write(sections):
    return faces(sections) + behind(sections)


def faces(sections):
    lines = []
    for section in SECTIONS:
        for table in sections.get(section, {}).get("tables", []):
            rows = {row["name"]: row for row in table["rows"]}
            cells = [beside(rows.get(face), table["unit"]) for face in FACES]
            if any(cells):
                lines.append([table["title"], *cells])
    return "## At a glance\n\n" + markdown(["median, and ratio to the best peer", *FACES], lines)


def beside(row, unit):
    if row is None:
        return ""
    peer = f", {row['to_peer']:.2f} of {row['peer']}" if "to_peer" in row else ""
    return f"{number(row['median'])} {unit}{peer}"


def behind(sections):
    lines = []
    for section in sections.values():
        for table in section["tables"]:
            for where, row, cell in ratios(table):
                worse = cell["to_peer"] > 1 + SAME if table["lower_is_better"] else cell["to_peer"] < 1 - SAME
                if worse:
                    figure = f"{number(cell['median'])} {table['unit']}, {cell['to_peer']:.2f} of {cell['peer']}"
                    lines.append(f"- {table['title']}{where}: {row['name']}, {figure}\n")
    if not lines:
        return ""
    title = (
        "**Where a peer of the same language is ahead** (every pause has jitter, so lateness varies by chance):"
    )
    return f"\n{title}\n\n" + "".join(lines)


def ratios(table):
    """Every ratio to a peer: a description of where it is, its row, and its cell."""
    for row in table["rows"]:
        for point, cell in row["cells"].items() if table["kind"] == "series" else [(None, row)]:
            if "to_peer" in cell:
                yield f", {table['over']}: {point}" if point else "", row, cell
