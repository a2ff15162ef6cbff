"""results.json: what RESULTS.md and the plots need, and no more. One row a line, so a new run is a diff that can be read."""

import json


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def write(path, results):
    path.write_text(as_text(rounded(results)) + "\n", encoding="utf-8")


def as_text(value, depth=0):
    """JSON with the rows of a table, and whatever else holds no rows, on one line each."""
    if not (isinstance(value, (dict, list)) and has_rows(value)):
        return json.dumps(value, ensure_ascii=False)
    inside, outside = " " * (depth + 1), " " * depth
    if isinstance(value, dict):
        lines = [f"{inside}{json.dumps(key)}: {as_text(one, depth + 1)}" for key, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{outside}}}"
    return "[\n" + ",\n".join(inside + as_text(one, depth + 1) for one in value) + f"\n{outside}]"


def has_rows(value):
    """Whether this is a table's list of rows, or contains one."""
    if isinstance(value, dict):
        return any(has_rows(one) for one in value.values())
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def rounded(value):
    """Four digits: no run is more precise."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value
