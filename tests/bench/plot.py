"""Plots as SVG by hand: bars for a figure, lines for a figure over a quantity. They read in light and in dark."""

import math
from xml.sax.saxutils import escape

from figures import FLOORS, number, ours

OURS, PEER = "ours", "peer"
STYLE = """<style>
text{font:13px system-ui,-apple-system,"Segoe UI",sans-serif;fill:#24292f}
.small{font-size:11px;fill:#57606a}.bold{font-weight:600}
.ours{fill:#0969da}.peer{fill:#afb8c1}.floor{fill:#6e7781}
.line-ours{stroke:#0969da;stroke-width:2.5;fill:none}.line-peer{stroke:#afb8c1;stroke-width:1.5;fill:none}
.grid{stroke:#d0d7de;stroke-width:1}.range{stroke:#57606a;stroke-width:1}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}.small{fill:#9198a1}.ours{fill:#4493f8}.peer{fill:#59636e}.floor{fill:#818b98}
.line-ours{stroke:#4493f8}.line-peer{stroke:#59636e}.grid{stroke:#3d444d}.range{stroke:#9198a1}}
</style>"""
WIDTH = 760


def draw(table):
    return bars(table) if table["kind"] == "table" else lines(table)


def bars(table):
    """One bar an entrant, from the best down. The axis is logarithmic where the slowest would squeeze all others."""
    rows = [row for row in table["rows"] if row["median"] > 0] or table["rows"]
    values = [row["median"] for row in rows]
    left, right, step, top = 150, 130, 24, 44
    room = WIDTH - left - right
    logarithmic = max(values) > 20 * min(values) > 0
    low = 10 ** math.floor(math.log10(min(values) * 0.7)) if logarithmic else 0
    high = max(values)

    def place(value):
        if logarithmic:
            return room * (math.log10(max(value, low)) - math.log10(low)) / (math.log10(high) - math.log10(low))
        return room * value / high if high else 0

    better = "less is better" if table["lower_is_better"] else "more is better"
    scale = "logarithmic, " if logarithmic else ""
    parts = [text(0, 16, table["title"], "bold"), text(0, 33, f"{table['unit']}, median; {scale}{better}", "small")]
    bottom = top + step * len(rows)
    for tick in ticks(low, high, logarithmic):
        x = left + place(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}"/>')
        parts.append(text(x, bottom + 14, f"{tick:,g}", "small", "middle"))
    for index, row in enumerate(rows):
        y = top + step * index
        kind = "ours" if ours(row["name"]) else "floor" if row["name"] in FLOORS else "peer"
        parts.append(text(left - 8, y + 17, row["name"], "bold" if ours(row["name"]) else "", "end"))
        parts.append(
            f'<rect class="{kind}" x="{left}" y="{y + 4}" width="{max(place(row["median"]), 1):.1f}" height="{step - 7}" rx="2"/>'
        )
        parts.append(text(left + place(row["median"]) + 6, y + 17, number(row["median"]), "bold" if ours(row["name"]) else ""))
    return svg(table["title"], bottom + 22, parts)


def lines(table):
    """One line an entrant, named at its end; both axes show ratios as distances."""
    points = table["points"]
    left, right, top, height = 60, 215, 48, 320
    room = WIDTH - left - right
    curves = {}
    for row in table["rows"]:
        cells = [row["cells"].get(point) for point in points]
        curves[row["name"]] = (
            [(index, cell["median"]) for index, cell in enumerate(cells) if cell and cell["median"] > 0],
            ours(row["name"]),
        )
    values = [value for curve, _ in curves.values() for _, value in curve]
    low, high = math.log10(min(values)), math.log10(max(values))
    span = (high - low) or 1

    def spot(index, value):
        x = left + room * index / max(len(points) - 1, 1)
        return x, top + height * (1 - (math.log10(value) - low) / span)

    better = "less is better" if table["lower_is_better"] else "more is better"
    parts = [
        text(0, 16, table["title"], "bold"),
        text(0, 33, f"{table['unit']}, median, over {table['over']}; logarithmic, {better}", "small"),
    ]
    for tick in ticks(10**low, 10**high, True):
        y = spot(0, tick)[1]
        parts.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{left + room}" y2="{y:.1f}"/>')
        parts.append(text(left - 6, y + 4, f"{tick:,g}", "small", "end"))
    for index, point in enumerate(points):
        parts.append(text(spot(index, 10**low)[0], top + height + 18, point, "small", "middle"))
    ends = []
    for name, (curve, is_ours) in sorted(curves.items(), key=lambda item: item[1][1]):
        if curve:
            kind = OURS if is_ours else PEER
            spots = [spot(*one) for one in curve]
            parts.append(f'<polyline class="line-{kind}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in spots)}"/>')
            parts += [f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in spots]
            ends.append([spots[-1][1], name, curve[-1][1], is_ours])
    for y, name, value, is_ours in apart(ends, 15, top, top + height):
        parts.append(text(left + room + 10, y + 4, f"{name} {number(value)}", "bold" if is_ours else ""))
    return svg(table["title"], top + height + 28, parts)


def apart(ends, gap, top, bottom):
    """Moves labels down, and up again from the bottom, until no two overlap."""
    ends.sort()
    for index in range(1, len(ends)):
        ends[index][0] = max(ends[index][0], ends[index - 1][0] + gap)
    if ends and ends[-1][0] > bottom:
        ends[-1][0] = bottom
        for index in range(len(ends) - 2, -1, -1):
            ends[index][0] = min(ends[index][0], ends[index + 1][0] - gap)
    return ends


def ticks(low, high, logarithmic):
    if not logarithmic:
        step = 10 ** math.floor(math.log10(high or 1))
        step = next(step * part for part in (0.2, 0.5, 1, 2) if high / (step * part) <= 6)
        return [step * count for count in range(int(high / step) + 1)]
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1,) if high / low > 1000 else (1, 2, 5)
    return [10**decade * step for decade in decades for step in steps if low * 0.999 <= 10**decade * step <= high * 1.001]


def text(x, y, label, kind="", anchor="start"):
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(label)}</text>'


def svg(title, height, parts):
    body = "\n".join(parts)
    size = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<title>{escape(title)}</title>\n{STYLE}\n{body}\n</svg>\n'
    )
