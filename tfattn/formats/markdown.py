"""Text as Markdown: names, labels and rows of users stay text, with all their characters."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

_MARKUP = re.compile(r"[\\`*_\[\]#~$!]")
# A text that is like the start of a list, or like a rule.
_LINE_START = re.compile(r"^(\d*)([-+.)](?= |$)|[-=](?=[-= ]*$))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;"}


def inline(value: Any) -> str:
    """Escape a text, which may be in a sentence, a list or a cell of a table; line breaks become spaces.

    Example:
        >>> inline("a | <b>"), inline("---"), inline("snake_case")
        ('a &#124; &lt;b&gt;', '\\\\---', 'snake\\\\_case')
    """
    escaped = _MARKUP.sub(r"\\\g<0>", " ".join(str(value).split()))
    return "".join(_ENTITIES.get(letter, letter) for letter in _LINE_START.sub(r"\1\\\2", escaped))


def code(value: Any) -> str:
    """Return a text as a code span, for sentences and lists; cells of tables are plain text.

    Example:
        >>> code("a`b")
        '``a`b``'
    """
    plain = " ".join(str(value).split())
    ticks = "`" * (_longest_run(plain) + 1)
    space = " " if not plain or "`" in (plain[0], plain[-1]) else ""
    return f"{ticks}{space}{plain}{space}{ticks}"


def fence(text: str, language: str) -> str:
    """Return lines as a block of code, which ends at its own fence and not within the text."""
    ticks = "`" * max(3, _longest_run(text) + 1)
    return f"{ticks}{language}\n{text.strip()}\n{ticks}"


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table; its cells are escaped."""
    lines = [[inline(cell) for cell in line] for line in (columns, *rows)]
    lines.insert(1, ["---"] * len(columns))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max(map(len, re.findall("`+", text)), default=0)
