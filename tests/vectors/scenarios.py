"""Reads the scenarios out of the files beside this one. README.md says how they are written."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
GROUP_KEYS = {"about", "all", "columns", "rows", "scenarios"}


def load(only=None):
    """Every scenario whose `file/name` contains `only`, as a dict with the keys of README.md and `file`."""
    scenarios = []
    for path in sorted(HERE.glob("*.json")):
        for group in json.loads(path.read_text(encoding="utf-8")):
            for scenario in in_group(group):
                scenario["file"] = path.stem
                scenarios.append(scenario)
    names = [scenario["name"] for scenario in scenarios]
    repeated = {name for name in names if names.count(name) > 1}
    assert not repeated, f"two scenarios have one name: {sorted(repeated)}"
    return [scenario for scenario in scenarios if not only or only in f"{scenario['file']}/{scenario['name']}"]


def in_group(group):
    """The scenarios of one group: each row put into the template, then each scenario laid over it."""
    assert group.keys() <= GROUP_KEYS, f"a group has {sorted(group.keys() - GROUP_KEYS)}; it may have {sorted(GROUP_KEYS)}"
    template, columns = group["all"], group.get("columns", [])
    for row in group.get("rows", []):
        assert len(row) == len(columns), f"row {row} does not match the columns {columns}"
        yield repeated_texts(filled_in(template, dict(zip(columns, row))))
    for scenario in group.get("scenarios", []):
        yield repeated_texts(laid_over(template, scenario))


def filled_in(value, row):
    """The template with each `{column}` replaced. A text that is nothing but `{column}` becomes the row's value, whatever its type."""
    if isinstance(value, dict):
        return {key: filled_in(inner, row) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled_in(inner, row) for inner in value]
    if isinstance(value, str):
        for column, given in row.items():
            if value == f"{{{column}}}":
                return given
            value = value.replace(f"{{{column}}}", str(given))
    return value


def laid_over(template, scenario):
    """The template with the scenario's keys added or replaced, at every depth of dicts; lists are replaced whole."""
    if isinstance(template, dict) and isinstance(scenario, dict):
        return {**template, **{key: laid_over(template.get(key), value) for key, value in scenario.items()}}
    return scenario


def repeated_texts(value):
    """Long texts are written {"repeat": "x", "times": 4}."""
    if isinstance(value, dict):
        if value.keys() == {"repeat", "times"}:
            return value["repeat"] * value["times"]
        return {key: repeated_texts(inner) for key, inner in value.items()}
    return [repeated_texts(inner) for inner in value] if isinstance(value, list) else value


if __name__ == "__main__":
    print(json.dumps(load(sys.argv[1] if len(sys.argv) > 1 else None), indent=1, ensure_ascii=False))
