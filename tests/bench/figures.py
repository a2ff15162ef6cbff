"""From runs to figures: every one with its count of runs, median, minimum and maximum, and ratios run by run."""

import statistics

from lineup import ENTRANTS, FLOOR

#: What no peer can do without.
FLOORS = (FLOOR, "bare Python", "no store")


def summary(values):
    return {"runs": len(values), "median": statistics.median(values), "min": min(values), "max": max(values)}


def language(name):
    if name.startswith("agentjob batch"):
        return "Rust"
    return ENTRANTS[name][0] if name in ENTRANTS else "Python"


def ours(name):
    return name.startswith("agentjob")


def best_peer(medians, name, lower_is_better):
    """The best other entrant of the same language."""
    peers = {n: m for n, m in medians.items() if language(n) == language(name) and not ours(n) and n not in FLOORS}
    if not peers:
        return None
    return (min if lower_is_better else max)(peers, key=peers.get)


def ratio(mine, theirs):
    """The median of the runs' own ratios."""
    return statistics.median(one / other for one, other in zip(mine, theirs) if other)


def table(title, unit, runs, lower_is_better=True, samples=None, about=""):
    """One figure of every entrant. runs: {name: [a value each run, …]}, in the same order for all. samples: {name: [every single
    value, …]}, where a run's value is the median of many: then median, minimum and maximum are those of the samples."""
    medians = {name: statistics.median(values) for name, values in runs.items()}
    rows = []
    for name, values in runs.items():
        row = {"name": name, **summary(values)}
        if samples:
            every = sorted(samples[name])
            row.update(
                summary(every), runs=len(values), samples=len(every), p99=every[min(len(every) * 99 // 100, len(every) - 1)]
            )
        if FLOOR in runs and name != FLOOR:
            row["to_floor"] = ratio(values, runs[FLOOR])
        peer = best_peer(medians, name, lower_is_better)
        if peer and ours(name):
            row["peer"], row["to_peer"] = peer, ratio(values, runs[peer])
        rows.append(row)
    rows.sort(key=lambda row: row["median"] if lower_is_better else -row["median"])
    return {"kind": "table", "title": title, "unit": unit, "lower_is_better": lower_is_better, "about": about, "rows": rows}


def series(title, unit, over, points, lower_is_better=True, about="", named=None):
    """One figure of every entrant over a quantity. points: {x: {name: [a value each run, …]}}. named: a peer that ours are held
    against besides the best one."""
    points = {str(x): runs for x, runs in points.items()}
    tables = {x: {row["name"]: row for row in table("", "", runs, lower_is_better)["rows"]} for x, runs in points.items()}
    rows = []
    for name in next(iter(points.values())):
        cells = {}
        for x, found in tables.items():
            if name in found:
                cells[x] = {key: value for key, value in found[name].items() if key not in ("name", "runs")}
                if named in points[x] and ours(name):
                    cells[x]["to_named"] = ratio(points[x][name], points[x][named])
        rows.append({"name": name, "cells": cells})
    return {
        "kind": "series",
        "title": title,
        "unit": unit,
        "over": over,
        "lower_is_better": lower_is_better,
        "about": about,
        "named": named,
        "points": list(points),
        "runs": [len(next(iter(runs.values()))) for runs in points.values()],
        "rows": rows,
    }


def number(value):
    """Three digits, and none that mean nothing."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3}f}"


def markdown(head, lines):
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join("| " + " | ".join(line) + " |\n" for line in [head, rule, *lines])
