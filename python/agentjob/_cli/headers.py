"""The flag --header: a header, or @ and the name of a file with headers, as in curl."""

from .. import errors
from .._native import read_headers


def headers(given):
    """The headers of all --header flags, or None if there are none."""
    found = {}
    for text in given or ():
        name = "--header"
        if text.startswith("@"):
            name, text = text[1:], content(text[1:])
        for header, value in read_headers(name, text).items():
            if header.lower() in map(str.lower, found):
                raise invalid(f"header {header} is given twice")
            found[header] = value
    return found or None


def content(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise invalid(f"the headers in {path} cannot be read: {why}") from None


def invalid(reason):
    return errors.InvalidArgumentError(reason, {"reason": reason, "hint": None, "delivery": None})
