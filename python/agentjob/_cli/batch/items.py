"""The messages of a batch as people have them in a file: one JSON object a line, or CSV with a header.

Everything is read and checked before anything is sent, so a mistake in the last line costs nothing but the mending.
"""

import csv
import gc
import io
import json
import os
import re
import sys

from ...errors import InvalidArgumentError
from ..terminal import printable

FIELDS = ("job_id", "prompt", "key")
REQUIRED = ("job_id", "prompt")
KINDS = {dict: "an object", list: "a list", int: "a number", float: "a number", bool: "true or false", type(None): "null"}
#: The name of a field that is spelled with an escape, or a text that looks like one.
ESCAPED_NAME = re.compile(r'"[a-z_]*\\u[0-9a-fA-F]{4}[^"]*"\s*:')
#: What the csv module says, in words for whoever wrote the file.
CSV_ERRORS = {
    "unexpected end of data": "the quote that begins in it is never closed",
    "',' expected after '\"'": 'text stands behind a closing quote; a quote inside a quoted field is written ""',
}


def read_items(file, format=None):
    """The items of a file (- is stdin), as dicts for Client.send_all, each with its `line`.

    format: "jsonl" or "csv"; without one a name that ends in .csv says it. Raises InvalidArgumentError: one sentence that
    names the file, the first line that is wrong, and how many others are.
    """
    name = "stdin" if file == "-" else printable(file)
    text = decoded(content(file, name), name)
    if format is None:
        format = "csv" if file.lower().endswith(".csv") else "jsonl"
    # Many small objects that all stay: collecting garbage among them would be half of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        items = (csv_items if format == "csv" else jsonl_items)(text, name)
    finally:
        if collects:
            gc.enable()
    if not items:
        raise InvalidArgumentError(f"{name} has no messages in it")
    return items


def content(file, name):
    try:
        if file != "-":
            with open(file, "rb") as stream:
                return stream.read()
        if sys.stdin is None:
            raise InvalidArgumentError("the messages are to come from stdin, which is closed")
        return sys.stdin.buffer.read()
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        if isinstance(error, InvalidArgumentError):
            raise
        why = os.strerror(error.errno) if getattr(error, "errno", None) else error
        raise InvalidArgumentError(f"{name} cannot be read: {why}") from None


def decoded(data, name):
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidArgumentError(f"{name}, line {line}: it is not UTF-8; save the file as UTF-8") from None


class Mistakes:
    """The first line that is wrong, how many others are, and the keys that were seen."""

    def __init__(self, name):
        self._name, self._first, self._lines, self._keys = name, None, 0, {}

    def add(self, line, what):
        self._first = self._first or f"{self._name}, line {line}: {what}"
        self._lines += 1

    def same_key(self, key, line):
        """What is wrong with a key that an earlier line has, too."""
        first = self._keys.setdefault(key, line)
        return None if first == line else f"its key {shown(key)} is that of line {first}, too; give each line a key of its own"

    def refuse(self):
        if self._first is not None:
            more = self._lines - 1
            others = f" (and {more} more {'line' if more == 1 else 'lines'})" if more else ""
            raise InvalidArgumentError(self._first + others)


def jsonl_items(text, name):
    decode = json.JSONDecoder().decode
    items, mistakes = [], Mistakes(name)
    # Not splitlines: a line of JSON may hold U+2028 and its like.
    for number, line in enumerate(text.split("\n"), 1):
        if not line or line.isspace():
            continue
        try:
            item = decode(line)
        except (ValueError, RecursionError) as error:
            mistakes.add(number, f"it is not JSON: {reason(error)}")
            continue
        wrong = wrong_object(item, line)
        if wrong is None and item.get("key") is not None:
            wrong = mistakes.same_key(item["key"], number)
        if wrong is None:
            item["line"] = number
            items.append(item)
        else:
            mistakes.add(number, wrong)
    mistakes.refuse()
    return items


def wrong_object(item, line):
    """What is wrong with a line's value, or None."""
    if item.__class__ is not dict:
        return f"it is {kind(item)}; give one object a line"
    for name in REQUIRED:
        value = item.get(name)
        if value.__class__ is not str or not value:
            return wrong_value(item, name)
    fields = 2
    if "key" in item:
        fields, value = 3, item["key"]
        if value is not None and (value.__class__ is not str or not value):
            return wrong_value(item, "key")
    if len(item) != fields:
        unknown = next(name for name in item if name not in FIELDS)
        return f"it has an unknown field {shown(unknown)}; the fields are job_id, prompt and key"
    # The text is UTF-8, so only an escape can be half a character, and only a name with one does not look like itself.
    escaped = "\\u" in line
    if escaped and (wrong := half_character(item)):
        return wrong
    if line.count('"prompt"') > 1 or line.count('"job_id"') > 1 or line.count('"key"') > 1:
        return name_twice(line)
    return name_twice(line) if escaped and ESCAPED_NAME.search(line) else None


def half_character(item):
    for name in FIELDS:
        try:
            (item.get(name) or "").encode()
        except UnicodeEncodeError:
            return f"{name} has half a character in it (an escape from \\ud800 to \\udfff without its other half)"
    return None


def name_twice(line):
    """JSON takes the last of two fields with one name; a message that is silently left out is worse than a question."""
    names = json.loads(line, object_pairs_hook=lambda pairs: [name for name, _ in pairs])
    twice = [name for name in names if names.count(name) > 1]
    return f"it has {twice[0]} twice" if twice else None


def wrong_value(item, name):
    if name not in item:
        # A name that is nearly right says more than that one is missing.
        unknown = [shown(other) for other in item if other not in FIELDS]
        beside = f"; it has an unknown field {unknown[0]}" if unknown else ""
        return f"{name} is missing{beside}"
    return f"{name} is empty" if item[name] == "" else f"{name} is {kind(item[name])}; give a string"


def reason(error):
    """What the json module says, without the line, which is another one here."""
    if isinstance(error, json.JSONDecodeError):
        what = error.msg[0].lower() + error.msg[1:]
        return f"{what[:-3] if what.endswith(' at') else what}, at character {error.pos + 1}"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number in it is too long"


def csv_items(text, name):
    before = csv.field_size_limit(sys.maxsize)  # the module's own, 128 KiB, is less than a prompt may have
    try:
        return csv_records(text, name)
    finally:
        csv.field_size_limit(before)


def csv_records(text, name):
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    items, mistakes, header, begin = [], Mistakes(name), None, 1
    while True:
        try:
            record = next(reader, None)
        except csv.Error as error:
            mistakes.add(begin, CSV_ERRORS.get(str(error), f"it is not CSV: {error}"))
            break  # where the next record begins, nobody knows
        if record is None:
            break
        number, begin = begin, reader.line_num + 1
        if not record:
            continue
        if header is None:
            header = csv_header(record, name, number)
            continue
        wrong = wrong_record(record, header)
        item = dict(zip(header, record)) if wrong is None else {}
        if not item.get("key"):
            item.pop("key", None)
        elif wrong is None:
            wrong = mistakes.same_key(item["key"], number)
        if wrong is not None:
            mistakes.add(number, wrong)
            continue
        item["line"] = number
        items.append(item)
    mistakes.refuse()
    return items


def csv_header(record, name, line):
    columns = [column.strip() for column in record]
    missing = [column for column in REQUIRED if column not in columns]
    unknown = [column for column in columns if column not in FIELDS]
    twice = [column for column in columns if columns.count(column) > 1]
    if missing:
        what = f"the header has no column {missing[0]}; it is {shown(','.join(record))}"
    elif unknown:
        what = f"the header has an unknown column {shown(unknown[0])}"
    elif twice:
        what = f"the header has the column {twice[0]} twice"
    else:
        return columns
    raise InvalidArgumentError(f"{name}, line {line}: {what}; give job_id, prompt and perhaps key, with commas between")


def wrong_record(record, header):
    if len(record) != len(header):
        return f"it has {len(record)} {'field' if len(record) == 1 else 'fields'}, and the header has {len(header)}"
    for name, value in zip(header, record):
        if not value and name in REQUIRED:
            return f"{name} is empty"
    return None


def kind(value):
    return KINDS.get(type(value), "a string")


def shown(text):
    """A short form of a text for a sentence: quoted, ASCII, one line."""
    return json.dumps(text if len(text) <= 60 else text[:60] + "...")
