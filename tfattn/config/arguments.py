"""One keyword argument of a constructor, as a key of its YAML section: its type, default and explanation."""

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
from tfattn.config.wording import described

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
        relations: how it goes together with other keys of its section.
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
        """Whether a YAML file may state it: what only the program knows, and objects, cannot be written down."""
        if self.given and not self.given.may_be_stated:
            return False
        if self.nested is not None:
            return True
        with contextlib.suppress(Exception):  # pydantic raises several kinds for classes that no schema describes
            return self.schema is not None
        return False

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a plain value."""
        return {key: value for key, value in self._type.json_schema().items() if key != "title"}

    def check(self, value: Any) -> list[tuple[tuple[str | int, ...], Any]]:
        """Hold a plain value against the type.

        Returns:
            the inner path and the value of each place that does not fit; nothing where all do.
        """
        try:
            # As JSON: what stands in a file is a list, never a tuple.
            self._type.validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            wrong = dict(_inside(value, detail["loc"]) for detail in error.errors())
            return [(path, inner) for path, inner in wrong.items() if not _has_inner(path, wrong)]
        return []

    def expected(self) -> str:
        """Describe the type in words."""
        return described(self.schema)

    @functools.cached_property
    def _type(self) -> TypeAdapter:
        return TypeAdapter(self.annotation, config=_FINITE)


def argument(name: str, hint: Any, default: Any, help: str) -> Argument:
    """Sort what a signature says of an argument.

    Args:
        name: its name.
        hint: its annotation, with marks and relations.
        default: its default, or REQUIRED.
        help: its line under `Args:`.
    """
    ours: list[Any] = []
    annotation = _strip(hint, ours)
    nested = next((mark for mark in ours if isinstance(mark, Mark)), None)
    given = next((mark for mark in ours if isinstance(mark, GivenMark)), None)
    relations = tuple(mark for mark in ours if isinstance(mark, Relation))
    # Of what no file may state, only the class that is built from the section knows the type.
    stated = given is None or given.may_be_stated
    return Argument(name, annotation if stated else Any, default, help, nested, given, relations)


def _inside(value: Any, steps: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], Any]:
    """Separate the keys among pydantic's steps to an error from names of types, and find the value there."""
    path: list[str | int] = []
    for step in steps:
        if isinstance(value, dict) and step in value or isinstance(value, list) and isinstance(step, int):
            value = value[step]
            path.append(step)
    return tuple(path), value


def _has_inner(path: tuple[str | int, ...], others: Iterable[tuple[str | int, ...]]) -> bool:
    return any(len(other) > len(path) and other[: len(path)] == path for other in others)


_OURS = GivenMark | Mark | Relation


def _strip(hint: Any, marks: list[Any]) -> Any:
    """Collect our marks and relations out of a hint, `X | None` included, and keep pydantic's."""
    if typing.get_origin(hint) is Annotated:
        inner, *extras = typing.get_args(hint)
        ours = [extra for extra in extras if isinstance(extra, _OURS)]
        marks.extend(ours)
        theirs = [extra for extra in extras if extra not in ours]
        inner = _strip(inner, marks)
        return Annotated[(inner, *theirs)] if theirs else inner
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, (_strip(option, marks) for option in typing.get_args(hint)))
    return hint
