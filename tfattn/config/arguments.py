"""A keyword argument of a constructor as a key of its YAML section: type, default and explanation."""

import contextlib
import functools
import inspect
import json
import operator
import types
import typing
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tfattn.config.relations import Relation
from tfattn.config.types import GivenMark, Mark
from tfattn.config.wording import describe_type

REQUIRED = inspect.Parameter.empty

_FINITE = ConfigDict(allow_inf_nan=False)


@dataclass(frozen=True)
class Argument:
    """A keyword argument of a constructor.

    Attributes:
        name: the key in YAML.
        annotation: the type without the marks of config/types.py.
        default: the default, or REQUIRED.
        help: the explanation under `Args:`.
        nested: the mark of a nested section, or None for a plain value.
        given: the mark of an argument that the program fills in, else None.
        relations: constraints between this key and other keys of its section.
    """

    name: str
    annotation: Any
    default: Any
    help: str
    nested: Mark | None
    given: GivenMark | None
    relations: tuple[Relation, ...] = ()

    @functools.cached_property
    def in_file(self) -> bool:
        """Whether a YAML file may set the argument: objects and values that only the program knows have no key."""
        if self.given and not self.given.may_be_stated:
            return False
        if self.nested is not None:
            return True
        with contextlib.suppress(Exception):  # pydantic raises several kinds for classes that no schema describes
            return self.schema is not None
        return False

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a plain value, without references."""
        schema = self._type.json_schema()
        return _inlined({key: value for key, value in schema.items() if key != "title"}, schema.get("$defs", {}))

    def check(self, value: Any) -> list[tuple[tuple[str | int, ...], Any]]:
        """Validate a plain value against the type.

        Returns:
            the inner path and the value of each mismatch; an empty list if the value is valid.
        """
        try:
            # As JSON: a file has lists, never tuples.
            self._type.validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            mismatches = dict(_locate(value, detail["loc"]) for detail in error.errors())
            return [(path, inner) for path, inner in mismatches.items() if not _has_inner(path, mismatches)]
        return []

    def expected(self) -> str:
        """Describe the type in words, for messages."""
        return describe_type(self.schema)

    @functools.cached_property
    def _type(self) -> TypeAdapter:
        return TypeAdapter(self.annotation, config=_FINITE)


def parse_argument(name: str, hint: Any, default: Any, help: str) -> Argument:
    """Make an Argument from a signature: separate the type from marks and relations.

    Args:
        name: the argument's name.
        hint: its annotation, with marks and relations.
        default: its default, or REQUIRED.
        help: its explanation under `Args:`.
    """
    marks: list[Any] = []
    annotation = _strip(hint, marks)
    nested = next((mark for mark in marks if isinstance(mark, Mark)), None)
    given = next((mark for mark in marks if isinstance(mark, GivenMark)), None)
    relations = tuple(mark for mark in marks if isinstance(mark, Relation))
    # The type of an argument that no file may set is checked only when the object is built.
    may_be_stated = given is None or given.may_be_stated
    return Argument(name, annotation if may_be_stated else Any, default, help, nested, given, relations)


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    """Replace references by what they refer to, because a schema becomes a part of a larger one."""
    if isinstance(schema, list):
        return [_inlined(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {key: _inlined(value, definitions) for key, value in schema.items() if key not in ("$defs", "discriminator")}


def _locate(value: Any, steps: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any]:
    """Return the key path of a pydantic error, without the names of types in it, and the value at this path."""
    path: list[str | int] = []
    for step in steps:
        if isinstance(value, dict) and step in value or isinstance(value, list) and isinstance(step, int):
            value = value[step]
            path.append(step)
    return tuple(path), value


def _has_inner(path: tuple[str | int, ...], others: Iterable[tuple[str | int, ...]]) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other in others)


_MARKS = GivenMark | Mark | Relation


def _strip(hint: Any, marks: list[Any]) -> Any:
    """Move marks and relations from a hint, and from the options of a union, to `marks`; keep pydantic's metadata."""
    if typing.get_origin(hint) is Annotated:
        inner, *metadata = typing.get_args(hint)
        found = [item for item in metadata if isinstance(item, _MARKS)]
        marks.extend(found)
        kept = [item for item in metadata if item not in found]
        inner = _strip(inner, marks)
        return Annotated[(inner, *kept)] if kept else inner
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, (_strip(option, marks) for option in typing.get_args(hint)))
    return hint
