"""Tagging schemes of files, and conversion to IOB2, the scheme of rows.

    iob1    I-PER inside; B-PER only if an entity directly follows another entity of its type (files of CoNLL-2003)
    iob2    B-PER at the first word of each entity, I-PER at the others
    bioes   as iob2, but E-PER at the last of several words and S-PER at a single word

Words that belong to no entity have the tag O.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

Scheme = Literal["iob1", "iob2", "bioes"]
OUTSIDE = "O"
BEGIN, INSIDE, END, SINGLE = "B", "I", "E", "S"

_PREFIXES: dict[str, str] = {"iob1": BEGIN + INSIDE, "iob2": BEGIN + INSIDE, "bioes": BEGIN + INSIDE + END + SINGLE}


class TagError(Exception):
    """An invalid tag.

    Attributes:
        index: index of the tag in its sentence.
        expected: the valid tags at this index.
        remedy: the remedy.
    """

    def __init__(self, index: int, expected: str, remedy: str = ""):
        super().__init__(expected)
        self.index, self.expected, self.remedy = index, expected, remedy


def to_iob2(tags: Sequence[str], scheme: Scheme) -> list[str]:
    """Convert the tags of a sentence.

    Raises:
        TagError: a tag is not in the scheme, or is invalid after the previous tag.

    Example:
        >>> to_iob2(["I-PER", "I-PER", "O", "I-LOC", "B-LOC"], "iob1")
        ['B-PER', 'I-PER', 'O', 'B-LOC', 'B-LOC']
    """
    converted = []
    before = ""  # the type of the entity that the next word may continue
    for index, tag in enumerate(tags):
        prefix, kind = _parts(tag, scheme, index)
        if scheme == "bioes" and before and (prefix in (BEGIN, SINGLE) or kind != before):
            raise TagError(index, f"I-{before} or E-{before}, as the entity before has no end")
        begins = prefix in (BEGIN, SINGLE) or kind != before
        if begins and prefix in (INSIDE, END) and scheme != "iob1":
            iob1 = "Where the file tags entities from their first word on so, set `scheme: iob1`."
            raise TagError(index, f"B-{kind} where an entity begins", iob1 if scheme == "iob2" else "")
        converted.append(f"{BEGIN if begins else INSIDE}-{kind}" if kind else OUTSIDE)
        before = "" if prefix in (END, SINGLE) else kind
    if scheme == "bioes" and before:
        raise TagError(len(tags) - 1, f"E-{before} or S-{before} where an entity ends")
    return converted


class Span(NamedTuple):
    """An entity: its type, and the indices of its first and last word."""

    label: str
    first: int
    last: int


def spans(tags: Sequence[str]) -> list[Span]:
    """List the entities of tags in IOB2.

    Example:
        >>> spans(["B-PER", "I-PER", "O", "B-LOC"])
        [Span(label='PER', first=0, last=1), Span(label='LOC', first=3, last=3)]
    """
    found: list[Span] = []
    for index, tag in enumerate(tags):
        if tag.startswith(BEGIN):
            found.append(Span(type_of(tag), index, index))
        elif tag != OUTSIDE:
            found[-1] = found[-1]._replace(last=index)
    return found


def of_characters(word: str, tag: str) -> list[str]:
    """Expand the tag of a word to its characters.

    Example:
        >>> of_characters("罗马", "B-LOC")
        ['B-LOC', 'I-LOC']
    """
    inside = tag if tag == OUTSIDE else f"{INSIDE}-{type_of(tag)}"
    return [tag, *[inside] * (len(word) - 1)]


def type_of(tag: str) -> str:
    """Return the entity type of a tag; "" for O."""
    return "" if tag == OUTSIDE else tag[2:]


def _parts(tag: str, scheme: Scheme, index: int) -> tuple[str, str]:
    """Split a tag into prefix and entity type; both are empty for O."""
    prefix, dash, kind = tag.partition("-")
    if tag == OUTSIDE:
        return "", ""
    if not kind or prefix not in _PREFIXES[scheme]:
        forms = ", ".join(f"{letter}-TYPE" for letter in _PREFIXES[scheme])
        raise TagError(index, f"O, {forms}", "Check which column `fields.tags` names, and `scheme`.")
    return prefix, kind
