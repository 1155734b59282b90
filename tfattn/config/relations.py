"""Relations between the keys of a section, declared in the annotations of constructors:

    num_heads: Annotated[PositiveInt, Divides("hidden_dim")]

`violations` checks them both when a configuration is checked and when an object is built, so messages agree.
Like types, relations are parsed from the source text of a constructor, without importing it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfattn.config.wording import format_value
from tfattn.errors import ConfigError


@dataclass(frozen=True)
class Relation(ABC):
    """A constraint between a key and another key of the same section.

    Args:
        other: the other key; keys inside a nested section are joined by dots.
        inner: for an argument that is a section, the key inside it that the constraint is about.
        unless: a key of the same section; the constraint does not apply if it is given.
        remedy: the remedy in the error message, a full sentence.
    """

    other: str
    inner: str = field(default="", kw_only=True)
    unless: str = field(default="", kw_only=True)
    remedy: str = field(default="", kw_only=True)

    @abstractmethod
    def holds(self, value: Any, other: Any) -> bool:
        """Return whether the relation holds for the values of the key that declares it and of the other key."""

    @abstractmethod
    def problem(self, key: str, value: Any, other: Any) -> ConfigError:
        """Return the error for two values that violate the relation."""


class Divides(Relation):
    """The value, if given, divides the other."""

    def holds(self, value: int | None, other: int) -> bool:
        return value is None or other % value == 0

    def problem(self, key: str, value: int, other: int) -> ConfigError:
        expected = f"a divisor of {self.other}={other}"
        return ConfigError(f"does not divide `{self.other}`", expected=expected, received=str(value))


class AtMost(Relation):
    """The value is at most the other, if both are given."""

    def holds(self, value: float | None, other: float | None) -> bool:
        return value is None or other is None or value <= other

    def problem(self, key: str, value: float, other: float) -> ConfigError:
        expected = f"at most {self.other}={other}"
        return ConfigError(f"above `{self.other}`", expected=expected, received=str(value))


class Below(Relation):
    """The value is less than the other, if the other is given."""

    def holds(self, value: float, other: float | None) -> bool:
        return other is None or value < other

    def problem(self, key: str, value: float, other: float) -> ConfigError:
        return ConfigError(f"not below `{self.other}`", expected=f"below {self.other}={other}", received=str(value))


@dataclass(frozen=True)
class OnlyWith(Relation):
    """The value is given, or true, only if the other is.

    Args:
        values: the required values of the other; by default any but null, false and 0.
    """

    values: tuple[Any, ...] = ()

    def holds(self, value: Any, other: Any) -> bool:
        return not value or (other in self.values if self.values else bool(other))

    def problem(self, key: str, value: Any, other: Any) -> ConfigError:
        fitting = " or ".join(map(format_value, self.values)) or f"other than {format_value(other)}"
        expected, received = f"{self.other} {fitting}", f"{self.other} {format_value(other)}"
        return ConfigError(f"needs another `{self.other}`", expected=expected, received=received)


class NotWith(Relation):
    """The value is not given, or not true, if the other is."""

    def holds(self, value: Any, other: Any) -> bool:
        return not (value and other)

    def problem(self, key: str, value: Any, other: Any) -> ConfigError:
        received = "neither" if value is None else "both"
        return ConfigError(f"is instead of `{self.other}`", expected=f"either {self.other} or {key}", received=received)


class InsteadOf(NotWith):
    """Exactly one of the two is given."""

    def holds(self, value: Any, other: Any) -> bool:
        return (value is None) != (other is None)


def violations(relations: Mapping[str, Iterable[Relation]], values: Mapping[str, Any]) -> Iterator[ConfigError]:
    """Check the values of a section against its relations.

    Args:
        relations: the relations of each key.
        values: plain values by key, sections as mappings; relations of missing keys are not checked.

    Yields:
        ConfigError: an error for each violated relation; its key is relative to the section.
    """
    for name, stated in relations.items():
        for relation in stated:
            key = f"{name}.{relation.inner}" if relation.inner else name
            if relation.unless and values.get(relation.unless) is not None:
                continue
            try:
                value, other = _at(values, key), _at(values, relation.other)
            except KeyError:
                continue
            if not relation.holds(value, other):
                problem = relation.problem(key, value, other)
                problem.key, problem.remedy = key, relation.remedy
                yield problem


def _at(values: Mapping[str, Any], key: str) -> Any:
    for name in key.split("."):
        if not isinstance(values, Mapping):
            raise KeyError(key)
        values = values[name]
    return values
