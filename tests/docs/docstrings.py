"""Shows docstrings in the site: their arguments as a list, which in the source are lines like "timeout: seconds of the whole wait", and
their examples as code."""

import re

import griffe


class DocstringsAsMarkdown(griffe.Extension):
    """mkdocs.yml names this class."""

    def on_instance(self, *, obj, **_):
        if obj.docstring:
            obj.docstring.value = "\n\n".join(map(as_markdown, obj.docstring.value.split("\n\n")))


def as_markdown(paragraph):
    """An example as code; each argument as an item of a list, with the lines that continue it."""
    if paragraph.startswith(">>> "):
        return f"```pycon\n{paragraph}\n```"
    return re.sub(r"^([a-z_]+(?:, [a-z_]+)*): (?=\S)", r"- **`\1`**: ", paragraph, flags=re.M)
