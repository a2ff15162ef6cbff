"""Turns the service's JSON into dicts. It is imported with the first client, because json takes longer than all of agentjob."""

import json

#: The value at an index of a text, and where it ends. It is written in C.
scan_once = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


#: An integer with more digits stays a text: to convert it takes time that grows with the square of its length, and no other thread runs
#: meanwhile. Python has the same limit, but a program can change it.
MAX_DIGITS = 4300


def loads(text):
    """The value of a text that is JSON, whatever sys.set_int_max_str_digits allows."""
    import decimal

    return json.loads(text, parse_int=lambda number: int(decimal.Decimal(number)) if len(number.lstrip("-")) <= MAX_DIGITS else number)
