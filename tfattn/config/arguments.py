"""A constructor's signature, read as the schema of its YAML section."""

import functools
import inspect
import json
import operator
import re
import textwrap
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from tfattn.config.types import GivenMark, PartMark, SectionMark

REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Argument:
    """One keyword argument of a constructor.

    Attributes:
        name: its name, the key in YAML.
        annotation: its type without the marks of config/types.py.
        default: its default, or REQUIRED.
        help: its line under `Args:`.
        nested: the mark of a nested section, or None for a plain value.
        given: whether the program fills it in.
    """

    name: str
    annotation: Any
    default: Any
    help: str
    nested: PartMark | SectionMark | None
    given: bool

    @property
    def in_file(self) -> bool:
        """Whether a YAML file may state it: objects that only the program has cannot be written down."""
        return not self.given or _is_plain(self.annotation)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a plain value."""
        return {key: value for key, value in TypeAdapter(self.annotation).json_schema().items() if key != "title"}

    def check(self, value: Any) -> list[tuple[tuple[str | int, ...], Any]]:
        """Nothing where the value fits; else the inner path and the value of each place that does not."""
        try:
            # As JSON: what stands in a file is a list, never a tuple.
            TypeAdapter(self.annotation).validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            details = error.errors()
            simple = len(details) == 1 and all(isinstance(step, (str, int)) for step in details[0]["loc"])
            inner = details[0]["loc"] if simple and isinstance(value, (dict, list)) else ()
            return [(tuple(inner), details[0]["input"] if inner else value)]
        return []

    def expected(self) -> str:
        """The type in words."""
        return describe(self.schema())


@functools.cache
def arguments(constructor: Callable) -> dict[str, Argument]:
    """The keyword arguments of a class or function, in order."""
    target = constructor.__init__ if inspect.isclass(constructor) else constructor
    hints = typing.get_type_hints(target, include_extras=True)
    helps = argument_helps(constructor)
    return {
        name: _argument(name, hints.get(name, Any), parameter.default, helps.get(name, ""))
        for name, parameter in inspect.signature(target).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def argument_helps(documented: Any) -> dict[str, str]:
    """The explanations under `Args:` of a docstring, each as one line."""
    lines = inspect.getdoc(documented) or ""
    section = re.search(r"^Args:\n((?:[ \t]+.*\n?|\n)+)", lines, flags=re.MULTILINE)
    if not section:
        return {}
    entries = re.split(r"^(?=\w[\w, ]*:)", textwrap.dedent(section.group(1)), flags=re.MULTILINE)
    helps = {}
    for names, colon, text in (entry.partition(":") for entry in entries):
        for name in names.split(",") if colon else ():
            helps[name.strip()] = " ".join(text.split())
    return helps


def describe(schema: dict[str, Any]) -> str:
    """A JSON Schema in a few words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(describe(option) for option in schema["anyOf"]))
    if "const" in schema:
        return repr(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(repr(value) for value in schema["enum"])
    kind = _WORDS.get(schema.get("type", ""), "a value")
    if schema.get("type") == "array" and "items" in schema:
        return f"a list, each {describe(schema['items'])}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"a mapping, each value {describe(schema['additionalProperties'])}"
    bounds = [f"{sign} {schema[key]:g}" for key, sign in _BOUNDS.items() if key in schema]
    pattern = f" that matches {schema['pattern']}" if "pattern" in schema else ""
    return f"{kind} {' and '.join(bounds)}".rstrip() + pattern


_WORDS = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
}
_BOUNDS = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}


def _argument(name: str, hint: Any, default: Any, help: str) -> Argument:
    marks: list[Any] = []
    annotation = _strip(hint, marks)
    nested = next((mark for mark in marks if isinstance(mark, (PartMark, SectionMark))), None)
    given = any(isinstance(mark, GivenMark) for mark in marks)
    return Argument(name, annotation, default, help, nested, given)


def _strip(hint: Any, marks: list[Any]) -> Any:
    """Collects our marks out of a hint, `X | None` included, and keeps pydantic's."""
    if typing.get_origin(hint) is Annotated:
        inner, *extras = typing.get_args(hint)
        ours = [extra for extra in extras if isinstance(extra, (GivenMark, PartMark, SectionMark))]
        marks.extend(ours)
        theirs = [extra for extra in extras if extra not in ours]
        inner = _strip(inner, marks)
        return Annotated[(inner, *theirs)] if theirs else inner
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, (_strip(option, marks) for option in typing.get_args(hint)))
    return hint


def _is_plain(annotation: Any) -> bool:
    try:
        TypeAdapter(annotation).json_schema()
    except Exception:  # pydantic raises several kinds for classes that no schema describes
        return False
    return annotation is not Any
