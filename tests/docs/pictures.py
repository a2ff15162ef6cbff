#!/usr/bin/env python3
"""Draws the pictures of the documentation from the tables that the tests use.

    python3 tests/docs/pictures.py

The pictures are in git, so that a code host shows them. A test compares them with what this draws: a table that changes without its
picture is an error.
"""

import html
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
STYLE = """
text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1f2328 }
.small { font-size: 12px; fill: #59636e } .bold { font-weight: 600 } .mono { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 13px }
.line { stroke: #59636e; stroke-width: 1.5; fill: none } .box { fill: #f6f8fa; stroke: #d1d9e0 }
.not_sent { fill: #0969da } .rejected { fill: #9a6700 } .unknown { fill: #cf222e } .accepted { fill: #1a7f37 }
.curve { stroke: #0969da; stroke-width: 2.5; fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .small { fill: #9198a1 } .box { fill: #151b23; stroke: #3d444d } .line { stroke: #9198a1 }
  .not_sent { fill: #4493f8 } .rejected { fill: #d29922 } .unknown { fill: #f85149 } .accepted { fill: #3fb950 } .curve { stroke: #4493f8 }
}
"""


class Picture:
    """An SVG that is written element by element."""

    def __init__(self, width, height, title):
        self.width, self.height, self.title, self.parts = width, height, title, []

    def text(self, x, y, text, kind="", anchor="start"):
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{html.escape(text)}</text>')

    def box(self, x, y, width, height, kind="box"):
        self.parts.append(f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" class="{kind}"/>')

    def arrow(self, *points, head=True):
        end = ' marker-end="url(#head)"' if head else ""
        self.parts.append(f'<polyline points="{" ".join(f"{x:g},{y:g}" for x, y in points)}" class="line"{end}/>')

    def curve(self, points):
        self.parts.append(f'<polyline points="{" ".join(f"{x:g},{y:g}" for x, y in points)}" class="curve"/>')

    def svg(self):
        head = (
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            '<path d="M0,0 L8,4 L0,8 z" class="head" fill="#59636e"/></marker></defs>'
        )
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        title = html.escape(self.title)
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}"><title>{title}</title><style>{STYLE}</style>{head}\n' + "\n".join(self.parts) + "\n</svg>\n"


def wrapped(text, width):
    line = ""
    for word in text.split():
        if line and len(line) + len(word) >= width:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def verdict():
    """A message's way, and the verdict at each point where it can be cut: the rows of tests/vectors/delivery.json."""
    groups = {group["about"]: group for group in json.loads((ROOT / "tests/vectors/delivery.json").read_text("utf-8"))}
    columns = [
        ("not_sent", "name, TCP, TLS, first bytes", groups["the message cannot have reached the service"]),
        ("rejected", "a response that refuses", groups["the service did not take the message"]),
        ("unknown", "last byte left, no response", groups["the message was written, and no usable response came"]),
        ("accepted", "a 2xx, and then its record", groups["the service took the message, and its record cannot be used"]),
    ]
    picture = Picture(1000, 400, "A message's way, and the verdict wherever it is cut")
    for number, (name, stage, group) in enumerate(columns):
        left = 10 + 248 * number
        picture.box(left, 10, 236, 46)
        picture.text(left + 118, 38, stage, "", "middle")
        picture.parts.append(f'<rect x="{left}" y="64" width="236" height="8" rx="4" class="{name}"/>')
        picture.text(left, 96, name, f"bold mono {name}")
        rows = [scenario["name"] for scenario in group.get("scenarios", [])]
        rows = rows or [f"{row[0]}: {row[1].replace('_', ' ')}" for row in group["rows"]]
        y = 120
        for row in rows:
            for line in wrapped("– " + row, 36):
                picture.text(left, y, line, "small")
                y += 16
            y += 3
    return picture


def schedule():
    """The pause between polls over the time waited: the rows of the test in core/src/wait/schedule/tests.rs."""
    test = (ROOT / "core/src/wait/schedule/tests.rs").read_text("utf-8")
    rows = re.search(r"for \(elapsed, pause\) in \[(.*?)\]", test, re.S)[1]
    points = [(float(x.replace("_", "")), float(y)) for x, y in re.findall(r"\(([\d._]+), ([\d.]+)\)", rows)]
    picture = Picture(720, 330, "The pause between two polls, over the time waited so far")
    left, bottom, width, height, longest = 60, 270, 620, 220, 600
    shown = [(min(x, longest), y) for x, y in points]
    # Between two rows of the table the pause is 15 % of the time, within the bounds: straight lines.
    corners = sorted({*shown, (points[0][1] / 0.15, points[0][1])})
    place = lambda x, y: (left + width * x / longest, bottom - height * y / 70)
    picture.arrow((left, bottom), (left + width + 15, bottom))
    picture.arrow((left, bottom), (left, bottom - height - 15))
    picture.text(left + width, bottom + 40, "waited, in seconds", "small", "end")
    picture.text(left - 45, 22, "pause, in seconds", "small")
    for x in range(0, longest + 1, 100):
        picture.text(place(x, 0)[0], bottom + 20, str(x), "small", "middle")
    for y in (2, 15, 30, 60):
        picture.text(left - 8, place(0, y)[1] + 4, str(y), "small", "end")
    picture.curve([place(x, y) for x, y in corners])
    for x, y in shown:
        cx, cy = place(x, y)
        picture.parts.append(f'<circle cx="{cx:g}" cy="{cy:g}" r="4" class="not_sent"/>')
    picture.text(*place(260, 24), "15 % of the time waited: never noticed more than that late", "small")
    return picture


def states():
    """What a poll may read after a message, and what a wait takes: the statuses of core/src/wait/schedule/tests.rs."""
    test = (ROOT / "core/src/wait/schedule/tests.rs").read_text("utf-8")
    terminal = re.findall(r'"(\w+)"', re.search(r"for status in \[(.*?)\]", test)[1])
    picture = Picture(860, 250, "A job's states after a message, and the window in which its previous result can still be read")
    boxes = [(10, "previous result", " or ".join(terminal)), (330, "active", "the agent works"), (650, "result", " or ".join(terminal))]
    for x, name, note in boxes:
        picture.box(x, 60, 200, 60)
        picture.text(x + 100, 86, name, "bold", "middle")
        picture.text(x + 100, 106, note, "small", "middle")
    picture.arrow((210, 90), (328, 90))
    picture.text(269, 80, "message", "small", "middle")
    picture.arrow((530, 90), (648, 90))
    picture.text(10, 30, "For a while after the message, reads may still show the previous result.", "unknown small")
    picture.text(10, 170, "A wait takes a result only after a poll has shown the job active, or after settle.", "small")
    picture.arrow((750, 122), (750, 205), (500, 205), (500, 124))
    picture.text(740, 225, "the next message", "small", "end")
    return picture


def journal():
    """What a crash between two steps leaves, and what goes wrong without a step: the table of tests/model/README.md."""
    table = (ROOT / "tests/model/README.md").read_text("utf-8")
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| refuted: `\w+` \| (.*?) \|$", table, re.M))
    steps = [
        ("write “sending”", "unknown", "not sent", None),
        ("fsync", "unknown", "unknown", "SENT_BEFORE_FSYNC"),
        ("send", "unknown", "unknown", "SENDING_IS_RESENT"),
        ("write the outcome", "known", "unknown", "OUTCOME_BEFORE_RESPONSE"),
        ("fsync", "known", "known", None),
    ]
    kinds = {"known": "accepted", "not sent": "not_sent", "unknown": "unknown"}
    picture = Picture(1000, 290, "The steps of one message, what a crash after each of them leaves, and why each is needed")
    picture.text(10, 18, "After a kill, and after a loss of power, right after each step the message is:", "small")
    for number, (step, killed, unpowered, mutation) in enumerate(steps):
        x = 10 + 198 * number
        picture.box(x, 60, 170, 44)
        picture.text(x + 85, 87, step, "bold", "middle")
        picture.text(x + 42, 46, killed, kinds[killed], "middle")
        picture.text(x + 128, 46, unpowered, kinds[unpowered], "middle")
        if number:
            picture.arrow((x - 28, 82), (x - 2, 82))
        if mutation:
            picture.text(x, 130, mutation.lower().replace("_", " ") + "?", "mono small")
            for line, part in enumerate(wrapped(rows[mutation].replace("`", ""), 28)):
                picture.text(x, 150 + 16 * line, part, "small")
    picture.text(10, 260, f"tests/model refutes {len(rows)} such mistakes; here are those of the single steps.", "small")
    return picture


def rooms():
    """The rooms of the code, and who may import whom: the picture of docs/architecture.md."""
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    tree = re.search(r"```text\n(.*?)```", page, re.S)[1]
    inside = re.findall(r"^  (\w+)/ ", re.search(r"^core/src/.*?(?=^\S)", tree, re.M | re.S)[0], re.M)
    picture = Picture(900, 380, "The rooms of the code; arrows are imports")
    for x, name, note in [(10, "python", "extension module and package"), (460, "ffi-c", "the C library, all unsafe")]:
        picture.box(x, 10, 420, 56)
        picture.text(x + 210, 34, name, "bold mono", "middle")
        picture.text(x + 210, 54, note, "small", "middle")
        picture.arrow((x + 210, 68), (x + 210, 108))
    picture.box(10, 110, 870, 190)
    picture.text(30, 136, "core", "bold mono")
    picture.text(80, 136, "decides everything; no C, no Python, no unsafe", "small")
    for number, room in enumerate(inside):
        x, y = 30 + 140 * (number % 6), 152 + 68 * (number // 6)
        picture.box(x, y, 128, 52)
        picture.text(x + 64, y + 31, room, "mono", "middle")
    picture.box(10, 318, 420, 50)
    picture.text(220, 348, "tests/emulator: imports nothing of the client", "small", "middle")
    return picture


PICTURES = {function.__name__: function for function in (verdict, schedule, states, journal, rooms)}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), "utf-8")
