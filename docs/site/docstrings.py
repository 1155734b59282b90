"""The conventions of this project's docstrings, in the form that griffe reads: an extension of griffe."""

import inspect
import re
import textwrap
from types import SimpleNamespace
from typing import Any

import griffe

# Several arguments with one explanation: `version, label: as for ...`.
TOGETHER = re.compile(r"^(?P<indent> +)(?P<names>\w+(?:, \w+)+): (?P<text>.*(?:\n(?P=indent) +.*)*)", re.MULTILINE)
# Of a class, the arguments and results of a call, which have no types.
OF_CALL = re.compile(r"^(?P<title>Call arguments|Returns):\n(?P<body>(?:    .*\n?|\n(?=    ))+)", re.MULTILINE)
NAMED = re.compile(r"^([\w, ]+): ", re.MULTILINE)


class Conventions(griffe.Extension):
    """Reads `Example:`, arguments with a common explanation, and the arguments of calls in docstrings of classes."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of an object."""
        if obj.is_class and "__doc__" in obj.members:
            obj.docstring = _composed(obj)
        if obj.docstring:
            text = re.sub(r"^Example:$", "Examples:", obj.docstring.value, flags=re.MULTILINE)
            text = OF_CALL.sub(_call, text) if obj.is_class else text
            obj.docstring.value = TOGETHER.sub(_separated, text)


def _composed(obj: griffe.Class) -> griffe.Docstring:
    """Return the docstring of a class that is written with the docstring of a base, as that of TextClassifier."""
    bases = [obj.parent.members[name] for name in map(str, obj.bases) if name in obj.parent.classes]
    names = {base.name: SimpleNamespace(__doc__=_indented(base.docstring.value)) for base in bases}
    return griffe.Docstring(inspect.cleandoc(eval(str(obj.members["__doc__"].value), names)), parent=obj)


def _indented(doc: str) -> str:
    """Return a docstring with the indentation of the source, as before Python 3.13."""
    return textwrap.indent(doc, "    ").lstrip() + "\n    "


def _separated(entry: re.Match) -> str:
    return "\n".join(f"{entry['indent']}{name}: {entry['text']}" for name in entry["names"].split(", "))


def _call(section: re.Match) -> str:
    """Write the section as a list, or as a paragraph if its entries have no names."""
    entries = NAMED.sub(r"- `\1`: ", textwrap.dedent(section["body"]))
    return f"**{section['title']}:**\n\n{entries}\n"
