"""Regular expressions as expressions: a subset that needs no looking around and no going back.

Characters, `.`, classes such as `[a-z]`, `[^"]`, `\\d`, `\\w`, `\\s` (of ASCII, as in JavaScript), groups, `|`, and the
counts `*`, `+`, `?`, `{m}`, `{m,}`, `{m,n}`. The whole text has to match, so `^` and `$` may stand at its ends.
"""

import re

from tfattn.errors import ServingError
from tfattn.guidance.code_points import EVERY, Ranges, united, without
from tfattn.guidance.expressions import Characters, Choice, Expression, Repeat, Sequence

LONGEST = 2_000  # characters
MOST_COUNTED = 1_000  # of repetitions, those around them multiplied
MOST_NESTED = 50
DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
CLASSES = {"d": DIGITS, "w": WORD, "s": SPACE}
CLASSES |= {name.upper(): without(EVERY, ranges) for name, ranges in CLASSES.items()}
CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "0": "\0"}
ANY: Ranges = without(EVERY, [(0x0A, 0x0A)])
_COUNT = re.compile(r"\{(\d+)(,)?(\d+)?\}")
_CODE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})")


def parsed(pattern: str, *, where: str) -> Expression:
    """Parse a regular expression.

    Args:
        pattern: of the whole text.
        where: what holds it, for messages.

    Raises:
        ServingError: it is none, or has what cannot be held to; names the place in it.

    Example:
        >>> parsed("a{2}", where="guided_regex")
        Repeat(part=Characters(ranges=((97, 97),)), least=2, most=2)
    """
    if len(pattern) > LONGEST:
        received = f"{len(pattern):,} characters"
        raise ServingError("the pattern is too long", where=where, expected=f"at most {LONGEST:,}", received=received)
    return _Parser(pattern.removeprefix("^"), where).whole()


class _Parser:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str, where: str):
        self._pattern, self._where = pattern, where
        self._place = self._depth = 0

    def whole(self) -> Expression:
        expression, _ = self._choice()
        if self._take("$") and self._place < len(self._pattern):
            self._place -= 1
        if self._place < len(self._pattern):
            raise self._error("the end of the pattern")
        return expression

    # Each part is an expression, and how often the repetitions in it repeat.

    def _choice(self) -> tuple[Expression, int]:
        self._depth += 1
        if self._depth > MOST_NESTED:
            raise self._error(f"at most {MOST_NESTED} groups inside each other")
        options = [self._sequence()]
        while self._take("|"):
            options.append(self._sequence())
        self._depth -= 1
        most = max(repeated for _, repeated in options)
        return (options[0][0] if len(options) == 1 else Choice(tuple(one for one, _ in options))), most

    def _sequence(self) -> tuple[Expression, int]:
        parts = []
        while self._next() not in ("", "|", ")", "$"):
            parts.append(self._counted())
        most = max((repeated for _, repeated in parts), default=1)
        return (parts[0][0] if len(parts) == 1 else Sequence(tuple(one for one, _ in parts))), most

    def _counted(self) -> tuple[Expression, int]:
        part, repeated = self._part()
        bounds: tuple[int, int | None]
        if self._take("*"):
            bounds = 0, None
        elif self._take("+"):
            bounds = 1, None
        elif self._take("?"):
            bounds = 0, 1
        elif found := _COUNT.match(self._pattern, self._place):
            least = int(found[1])
            bounds = least, int(found[3]) if found[3] else None if found[2] else least
            self._place = found.end()
        else:
            return part, repeated
        least, most = bounds
        repeated *= max(least, most or 0, 1)
        if most is not None and most < least or repeated > MOST_COUNTED:
            raise self._error(f"counts in order, and of at most {MOST_COUNTED:,} together")
        if self._next() in tuple("*+?{"):  # lazy and possessive counts say which match is found, not which texts match
            raise self._error("one count")
        return Repeat(part, least, most), repeated

    def _part(self) -> tuple[Expression, int]:
        if self._take("("):
            if self._take("?") and not self._take(":"):
                raise self._error("`(?:` or `(`: nothing that looks around")
            inside = self._choice()
            if not self._take(")"):
                raise self._error("`)`")
            return inside
        if self._take("["):
            return Characters(self._class()), 1
        if self._take("."):
            return Characters(ANY), 1
        if self._next() in tuple("*+?{}]^"):
            raise self._error("a character, or this one behind a backslash")
        return Characters(self._character()), 1

    def _class(self) -> Ranges:
        is_negated = self._take("^")
        found: list[tuple[int, int]] = []
        while not self._take("]"):
            low = self._character()
            if self._next() == "-" and self._pattern[self._place + 1 : self._place + 2] not in ("]", ""):
                self._place += 1
                high = self._character()
                if not (len(low) == len(high) == 1 and low[0][0] == low[0][1] <= high[0][0] == high[0][1]):
                    raise self._error("a range from one character to a later one")
                found.append((low[0][0], high[0][1]))
            else:
                found += low
        return without(EVERY, found) if is_negated else united(found)

    def _character(self) -> Ranges:
        """Read a character, or a class behind a backslash."""
        character = self._next()
        if not character:
            raise self._error("a character")
        self._place += 1
        if character != "\\":
            return ((ord(character), ord(character)),)
        name = self._next()
        if found := _CODE.match(self._pattern, self._place):
            self._place = found.end()
            code = int(found[1] or found[2], 16)
            return ((code, code),)
        if name in CLASSES:
            self._place += 1
            return CLASSES[name]
        if name in CONTROLS:
            self._place += 1
            return ((ord(CONTROLS[name]),) * 2,)
        if not name or name.isalnum():
            raise self._error("a class, or a character that means something")
        self._place += 1
        return ((ord(name), ord(name)),)

    def _next(self) -> str:
        return self._pattern[self._place : self._place + 1]

    def _take(self, character: str) -> bool:
        is_next = self._next() == character
        self._place += is_next
        return is_next

    def _error(self, expected: str) -> ServingError:
        received = repr(self._pattern[self._place : self._place + 20]) if self._next() else "its end"
        place = f"{self._where}, character {self._place + 1}"
        return ServingError("cannot read the pattern", where=place, expected=expected, received=received)
