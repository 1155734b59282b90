"""The conventions of this project's docstrings, in the form that griffe reads: an extension of griffe."""

import re
from typing import Any

import griffe

# Several arguments with one explanation: `version, label: as for ...`.
TOGETHER = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)+): (?P<text>.*(?:\n(?P=indent) +.*)*)", re.MULTILINE)


class Conventions(griffe.Extension):
    """Reads `Example:` as examples, and `a, b: text` as arguments with the same explanation."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring:
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            obj.docstring.value = TOGETHER.sub(_separated, text)


def _separated(entry: re.Match) -> str:
    return "\n".join(f"{entry['indent']}{name}: {entry['text']}" for name in entry["names"].split(", "))
