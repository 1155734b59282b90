"""A constructor's signature, read as the schema of its YAML section."""

import functools
import inspect
import json
import operator
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tfattn.config.types import GivenMark, PartMark, SectionMark
from tfattn.errors import ConfigError

REQUIRED = inspect.Parameter.empty

_FINITE = ConfigDict(allow_inf_nan=False)


@dataclass(frozen=True)
class Argument:
    """One keyword argument of a constructor.

    Attributes:
        name: its name, the key in YAML.
        annotation: its type without the marks of config/types.py.
        default: its default, or REQUIRED.
        help: its line under `Args:`.
        nested: the mark of a nested section, or None for a plain value.
        given: its mark where the program fills it in, or None.
    """

    name: str
    annotation: Any
    default: Any
    help: str
    nested: PartMark | SectionMark | None
    given: GivenMark | None

    @functools.cached_property
    def in_file(self) -> bool:
        """Whether a YAML file may state it: what only the program knows, and objects, cannot be written down."""
        if self.given and not self.given.may_be_stated:
            return False
        return self.nested is not None or _is_plain(self.annotation)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a plain value."""
        return {key: value for key, value in TypeAdapter(self.annotation).json_schema().items() if key != "title"}

    def check(self, value: Any) -> list[tuple[tuple[str | int, ...], Any]]:
        """Nothing where the value fits; else the inner path and the value of each place that does not."""
        try:
            # As JSON: what stands in a file is a list, never a tuple.
            TypeAdapter(self.annotation, config=_FINITE).validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            wrong = dict(_inside(value, detail["loc"]) for detail in error.errors())
            return [(path, inner) for path, inner in wrong.items() if not _has_inner(path, wrong)]
        return []

    def expected(self) -> str:
        """The type in words."""
        return describe(self.schema())


@functools.cache
def arguments(constructor: Callable) -> dict[str, Argument]:
    """The keyword arguments of a class or function, in order.

    Raises:
        ConfigError: a type is named that does not exist.
    """
    helps, hints = argument_helps(constructor), _hints(constructor)
    return {
        name: _argument(name, hints.get(name, Any), parameter.default, helps.get(name, ""))
        for name, parameter in inspect.signature(_called(constructor)).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def check_constructor(constructor: type) -> None:
    """Refuses a class that no section can be built from, such as a user's own.

    Raises:
        ConfigError: it has arguments that no key can give.
    """
    _, *parameters = inspect.signature(constructor.__init__).parameters.values()
    positional = [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    unwritable = [
        argument.name
        for argument in arguments(constructor).values()
        if not (argument.given or argument.in_file) and argument.default is REQUIRED
    ]
    if positional or unwritable:
        raise ConfigError(
            f"no key can give some arguments of {_path(constructor)}",
            expected="keyword arguments, after a `*`" if positional else "types that YAML has, or defaults",
            received=", ".join(positional or unwritable),
        )


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
    bounds = [f"{sign} {_number(schema[key])}" for key, sign in _BOUNDS.items() if key in schema]
    pattern = f" that matches {schema['pattern']}" if "pattern" in schema else ""
    return f"{kind} {' and '.join(bounds)}".rstrip() + pattern


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


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


def _inside(value: Any, steps: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any]:
    """The keys among pydantic's steps to what is wrong, others being names of types, and what stands there."""
    path: list[str | int] = []
    for step in steps:
        if isinstance(value, dict) and step in value or isinstance(value, list) and isinstance(step, int):
            value = value[step]
            path.append(step)
    return tuple(path), value


def _has_inner(path: tuple[str | int, ...], others: Iterable[tuple[str | int, ...]]) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other in others)


def _called(constructor: Callable) -> Callable:
    return constructor.__init__ if inspect.isclass(constructor) else constructor


def _hints(constructor: Callable) -> dict[str, Any]:
    try:
        return typing.get_type_hints(_called(constructor), include_extras=True)
    except (NameError, AttributeError, TypeError, SyntaxError) as error:
        raise ConfigError(f"the types of the arguments of {_path(constructor)} cannot be read ({error})") from error


def _path(constructor: Callable) -> str:
    return f"{constructor.__module__}.{constructor.__qualname__}"


def _argument(name: str, hint: Any, default: Any, help: str) -> Argument:
    marks: list[Any] = []
    annotation = _strip(hint, marks)
    nested = next((mark for mark in marks if isinstance(mark, (PartMark, SectionMark))), None)
    given = next((mark for mark in marks if isinstance(mark, GivenMark)), None)
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
    return True
