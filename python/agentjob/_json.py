"""Turns the service's JSON into dicts. It is imported with the first client, because json takes longer than all of agentjob."""

import json

#: The value at an index of a text, and where it ends. It is written in C.
scan_once = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def loads(text):
    """The value of a text that is JSON, with ints that are longer than sys.set_int_max_str_digits allows."""
    import decimal

    return json.loads(text, parse_int=lambda digits: int(decimal.Decimal(digits)))
