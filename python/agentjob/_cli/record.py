"""A job's record for stdout, from the JSON that the service sent: its numbers stay as they are, however long or large."""

import json
import re

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[][{},:]|[^][{},:"\s]+')


def pretty(text):
    """JSON with two spaces of indentation, as json.dumps writes it. ASCII only: it fits any encoding and has no control characters."""
    out, depth, empty = [], 0, False
    for match in TOKEN.finditer(text):
        token = match.group()
        if token in "]}":
            depth -= 1
            if not empty:
                out.append("\n" + "  " * depth)
        elif empty:
            out.append("\n" + "  " * depth)
        empty = token in "[{"
        depth += empty
        if token == ",":
            out.append(",\n" + "  " * depth)
        elif token == ":":
            out.append(": ")
        elif token[0] == '"':
            out.append(json.dumps(json.loads(token)))
        else:
            out.append(token)
    return "".join(out) + "\n"


def as_json(value):
    """A value on one line. Python reads a number beyond a float as infinity, which JSON does not have: it becomes 1e999 again. An integer
    is written in full, even if sys.set_int_max_str_digits allows fewer digits."""
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        return "".join(parts(value))


def parts(value):
    if isinstance(value, dict):
        inner = [json.dumps(key) + ":" + as_json(member) for key, member in value.items()]
        return "{", ",".join(inner), "}"
    if isinstance(value, (list, tuple)):
        return "[", ",".join(map(as_json, value)), "]"
    if isinstance(value, int):
        import decimal

        return str(decimal.Decimal(value))
    return "1e999" if value > 0 else "-1e999"
