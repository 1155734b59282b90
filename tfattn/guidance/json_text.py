"""JSON as expressions (RFC 8259): strings, numbers, arrays, objects, any value.

What is written is compact, or has one space behind each colon and comma, as Python writes it. Numbers are such that
every reader finds them finite, and strings have no half of a surrogate pair.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tfattn.guidance.code_points import EVERY, LAST, Ranges, common, without
from tfattn.guidance.expressions import (
    Characters,
    Choice,
    Expression,
    Repeat,
    Rule,
    Shared,
    Texts,
    between,
    choice,
    exactly,
    one_of,
    optional,
    sequence,
)

# Characters that need a backslash, by what stands behind it.
SHORT = {'"': '"', "\\": "\\", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
PLAIN: Ranges = without([(0x20, LAST)], [(ord('"'), ord('"')), (ord("\\"), ord("\\"))])

_HEX = between("09", "af", "AF")
_DIGIT = between("09")
_CODE = choice(  # of a character, or of the halves of a surrogate pair, behind \u
    sequence(between("09", "ac", "AC", "ef", "EF"), _HEX, _HEX, _HEX),
    sequence(one_of("dD"), between("07"), _HEX, _HEX),
    sequence(
        one_of("dD"),
        between("89", "ab", "AB"),
        _HEX,
        _HEX,
        exactly("\\u"),
        one_of("dD"),
        between("cf", "CF"),
        _HEX,
        _HEX,
    ),
)
CHARACTER = Shared(
    choice(
        Characters(PLAIN),
        sequence(exactly("\\"), choice(one_of('"\\/bfnrt'), sequence(exactly("u"), _CODE))),
    )
)

# As many digits as the plain numbers of Python and JavaScript have; with an exponent, one before the point.
_FRACTION = sequence(exactly("."), Repeat(_DIGIT, 1, 20))
_SIGN = optional(exactly("-"))
_TO_307 = choice(
    Repeat(_DIGIT, 1, 2),
    sequence(one_of("012"), _DIGIT, _DIGIT),
    sequence(exactly("30"), between("07")),
)
_EXPONENT = sequence(
    one_of("eE"),
    choice(sequence(optional(exactly("+")), _TO_307), sequence(exactly("-"), Repeat(_DIGIT, 1, 3))),
)
INTEGER = Shared(sequence(_SIGN, choice(exactly("0"), sequence(between("19"), Repeat(_DIGIT, 0, 20)))))
NUMBER = Shared(choice(sequence(INTEGER, optional(_FRACTION)), sequence(_SIGN, _DIGIT, optional(_FRACTION), _EXPONENT)))

BOOLEAN = Texts(("true", "false"))
NULL = exactly("null")
_SPACE = optional(exactly(" "))
_COMMA = sequence(exactly(","), _SPACE)
_COLON = sequence(exactly(":"), _SPACE)


class Property(NamedTuple):
    """A property of an object."""

    name: str
    value: Expression
    is_required: bool


def string(least: int = 0, most: int | None = None) -> Expression:
    """Describe a string of a number of characters."""
    return sequence(exactly('"'), Repeat(CHARACTER, least, most), exactly('"'))


def array(item: Expression, least: int = 0, most: int | None = None) -> Expression:
    """Describe an array of a number of items."""
    if most == 0:
        return exactly("[]")
    others = Repeat(sequence(_COMMA, item), max(least - 1, 0), None if most is None else most - 1)
    items = sequence(item, others)
    return sequence(exactly("["), items if least else optional(items), exactly("]"))


def object_of(properties: Iterable[Property], others: Expression | None = None) -> Expression:
    """Describe an object with its properties in order.

    Args:
        properties: in the order in which they are written.
        others: the value of any further property, behind these; None where there may be none.
    """
    properties = list(properties)
    members = [Shared(sequence(literal(one.name), _COLON, one.value)) for one in properties]
    rest: list[Expression] = []  # what may stand behind a first member
    if others is not None:
        further = Shared(sequence(_another_name([one.name for one in properties]), _COLON, others))
        rest = [Repeat(sequence(_COMMA, further))]
        starts = [sequence(further, *rest)]
    else:
        starts = []
    is_needed = False  # a member that stands further behind
    for member, one in reversed(list(zip(members, properties, strict=True))):
        start = sequence(member, *rest)
        starts, is_needed = ([start], True) if one.is_required else ([start, *starts], is_needed)
        behind = sequence(_COMMA, member)
        rest = [behind if one.is_required else optional(behind), *rest]
    inside = Choice(tuple(starts))
    return sequence(exactly("{"), inside if is_needed else optional(inside), exactly("}"))


def literal(value: Any) -> Expression:
    """Describe one value alone, as `json.loads` gives it."""
    if isinstance(value, list):
        parts = [literal(item) for item in value]
        return sequence(exactly("["), *_joined(parts), exactly("]"))
    if isinstance(value, dict):
        parts = [sequence(literal(key), _COLON, literal(item)) for key, item in value.items()]
        return sequence(exactly("{"), *_joined(parts), exactly("}"))
    return exactly(_scalar(value))


def one_literal(values: Iterable[Any]) -> Expression:
    """Describe one of some values, of which there may be thousands."""
    values = list(values)
    compounds = [value for value in values if isinstance(value, list | dict)]
    scalars = Texts(tuple(_scalar(value) for value in values if not isinstance(value, list | dict)))
    return Choice((scalars, *map(literal, compounds)))


def quoted(ranges: Ranges) -> Expression:
    """Describe a character inside a string, each of a set in one form: with a backslash only where it needs one."""
    escaped = [character for character in SHORT if common(ranges, [(ord(character),) * 2])]
    control = [f"\\u{low:04x}" for low in range(0x20) if chr(low) not in SHORT and common(ranges, [(low, low)])]
    texts = [*(f"\\{SHORT[character]}" for character in escaped), *control]
    plain = common(ranges, PLAIN)
    return Choice((*([Characters(plain)] if plain else []), Texts(tuple(texts))))


def any_value() -> Mapping[str, Expression]:
    """Describe by rules `value`, any value at all, and `object`, any object."""
    value = Rule("value")
    return {
        "value": choice(string(), NUMBER, BOOLEAN, NULL, array(value), Rule("object")),
        "object": object_of([], others=value),
    }


def _scalar(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _another_name(names: Iterable[str]) -> Expression:
    """Describe a string that is none of some names: it leaves the tree of their characters somewhere."""
    names = set(names)
    if not names:
        return string()
    return sequence(exactly('"'), _leaving(names, ""), exactly('"'))


def _leaving(names: set[str], begun: str) -> Expression:
    """Describe what may follow the beginning of names, so that none of them is written."""
    going_on = {name[: len(begun) + 1] for name in names if name.startswith(begun) and name != begun}
    taken = [(ord(name[-1]), ord(name[-1])) for name in going_on]
    free = sequence(quoted(without(EVERY, taken)), Repeat(CHARACTER))
    deeper = [sequence(quoted(((ord(name[-1]),) * 2,)), _leaving(names, name)) for name in sorted(going_on)]
    return choice(free, *deeper, *([] if begun in names else [exactly("")]))


def _joined(parts: Iterable[Expression]) -> list[Expression]:
    joined: list[Expression] = []
    for part in parts:
        joined += [_COMMA, part] if joined else [part]
    return joined
