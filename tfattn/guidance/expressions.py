"""What texts may be, as expressions: characters, one part behind another, choices, repetitions, and named rules.

Expressions are regular but for rules, which may stand inside themselves: so a list may hold lists.
"""

from dataclasses import dataclass

from tfattn.guidance.code_points import Ranges, united


@dataclass(frozen=True)
class Texts:
    """One of some texts, of which there may be thousands."""

    values: tuple[str, ...]


@dataclass(frozen=True)
class Characters:
    """One character of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Sequence:
    """One part behind the other."""

    parts: tuple["Expression", ...]


@dataclass(frozen=True)
class Choice:
    """One of several; of none, nothing can be written."""

    options: tuple["Expression", ...]


@dataclass(frozen=True)
class Repeat:
    """A part `least` to `most` times; without `most`, any number of times."""

    part: "Expression"
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Shared:
    """A part that is built once, wherever this same object stands."""

    part: "Expression"


@dataclass(frozen=True)
class Rule:
    """What a name stands for."""

    name: str


Expression = Texts | Characters | Sequence | Choice | Repeat | Shared | Rule


def exactly(value: str) -> Texts:
    """Allow exactly this text."""
    return Texts((value,))


def sequence(*parts: Expression) -> Sequence:
    """Put one part behind the other."""
    return Sequence(parts)


def choice(*options: Expression) -> Choice:
    """Allow one of several."""
    return Choice(options)


def optional(part: Expression) -> Repeat:
    """Allow a part or nothing."""
    return Repeat(part, 0, 1)


def between(*bounds: str) -> Characters:
    """Allow one character between two, such as `between("09", "af")`; both belong to it."""
    return Characters(united((ord(low), ord(high)) for low, high in bounds))


def one_of(characters: str) -> Characters:
    """Allow one of some characters."""
    return Characters(united((ord(character), ord(character)) for character in characters))
