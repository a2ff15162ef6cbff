"""A prompt that is read from a file or from stdin."""

import sys

from .. import errors


def read_prompt(given):
    """The prompt of an argument; - reads it from stdin."""
    if given != "-":
        return given
    if sys.stdin is None:
        raise errors.InvalidArgumentError("the prompt is read from stdin, which is closed")
    return prompt_of(sys.stdin.buffer.read(), "on stdin")


def prompt_of(content, where):
    """The prompt in the bytes of a file: without a byte order mark, which editors put before a text, and without trailing line breaks."""
    try:
        return content.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise errors.InvalidArgumentError(f"the prompt {where} is not UTF-8") from None
