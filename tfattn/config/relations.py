"""How keys go together, stated beside their types:

    num_heads: Annotated[PositiveInt, Divides("hidden_dim")]

`broken` alone holds values against relations, where a configuration is checked and again where a part is built, so that
both say the same. Like types, relations are read from the text of a constructor, without importing it.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tfattn.config.wording import plain
from tfattn.errors import ConfigError


@dataclass(frozen=True)
class Relation(ABC):
    """What the value of one key asks of another key of the same section.

    Args:
        other: the other key; keys inside a section are joined by dots.
        inner: the key that is meant inside the argument, where the argument is a section.
        remedy: what to do where they do not go together, a full sentence.
    """

    other: str
    inner: str = field(default="", kw_only=True)
    remedy: str = field(default="", kw_only=True)

    @abstractmethod
    def holds(self, value: Any, other: Any) -> bool:
        """Say whether two values go together: of the key that states the relation, and of the other."""

    @abstractmethod
    def problem(self, key: str, value: Any, other: Any) -> ConfigError:
        """Say what is wrong with two values that do not go together."""


class Divides(Relation):
    """The other is a multiple of it, where it is given."""

    def holds(self, value: int | None, other: int) -> bool:
        return value is None or other % value == 0

    def problem(self, key: str, value: int, other: int) -> ConfigError:
        expected = f"a divisor of {self.other}={other}"
        return ConfigError(f"does not divide `{self.other}`", expected=expected, received=str(value))


class AtMost(Relation):
    """It is not above the other, where both are given."""

    def holds(self, value: float | None, other: float | None) -> bool:
        return value is None or other is None or value <= other

    def problem(self, key: str, value: float, other: float) -> ConfigError:
        expected = f"at most {self.other}={other}"
        return ConfigError(f"above `{self.other}`", expected=expected, received=str(value))


class Below(Relation):
    """It is smaller than the other, where that is given."""

    def holds(self, value: float, other: float | None) -> bool:
        return other is None or value < other

    def problem(self, key: str, value: float, other: float) -> ConfigError:
        return ConfigError(f"not below `{self.other}`", expected=f"below {self.other}={other}", received=str(value))


@dataclass(frozen=True)
class OnlyWith(Relation):
    """It is given, or true, only where the other is.

    Args:
        values: those that the other may have then; by default any but null, false and 0.
    """

    values: tuple[Any, ...] = ()

    def holds(self, value: Any, other: Any) -> bool:
        return not value or (other in self.values if self.values else bool(other))

    def problem(self, key: str, value: Any, other: Any) -> ConfigError:
        fitting = " or ".join(map(plain, self.values)) or f"other than {plain(other)}"
        expected, received = f"{self.other} {fitting}", f"{self.other} {plain(other)}"
        return ConfigError(f"needs another `{self.other}`", expected=expected, received=received)


class NotWith(Relation):
    """It is not given, or not true, where the other is."""

    def holds(self, value: Any, other: Any) -> bool:
        return not (value and other)

    def problem(self, key: str, value: Any, other: Any) -> ConfigError:
        received = "neither" if value is None else "both"
        return ConfigError(f"is instead of `{self.other}`", expected=f"either {self.other} or {key}", received=received)


class InsteadOf(NotWith):
    """One of the two is given, and not both."""

    def holds(self, value: Any, other: Any) -> bool:
        return (value is None) != (other is None)


def broken(relations: Mapping[str, Iterable[Relation]], values: Mapping[str, Any]) -> Iterator[ConfigError]:
    """Hold values against the relations of their section.

    Args:
        relations: of each key.
        values: plain values by their keys, sections as mappings; about what is not there, nothing is said.

    Yields:
        ConfigError: for each relation that is broken, with its key as seen from the section.
    """
    for name, stated in relations.items():
        for relation in stated:
            key = f"{name}.{relation.inner}" if relation.inner else name
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
