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
            raise TagError(index, f"I-{before} or E-{before}, because the entity before has no end")
        starts = prefix in (BEGIN, SINGLE) or kind != before
        if starts and prefix in (INSIDE, END) and scheme != "iob1":
            iob1 = "If entities of the file start with I-, set `scheme: iob1`."
            raise TagError(index, f"B-{kind} at the start of an entity", iob1 if scheme == "iob2" else "")
        converted.append(f"{BEGIN if starts else INSIDE}-{kind}" if kind else OUTSIDE)
        before = "" if prefix in (END, SINGLE) else kind
    if scheme == "bioes" and before:
        raise TagError(len(tags) - 1, f"E-{before} or S-{before} at the end of an entity")
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
            found.append(Span(entity_type(tag), index, index))
        elif tag != OUTSIDE:
            found[-1] = found[-1]._replace(last=index)
    return found


def character_tags(word: str, tag: str) -> list[str]:
    """Expand the tag of a word to its characters.

    Example:
        >>> character_tags("罗马", "B-LOC")
        ['B-LOC', 'I-LOC']
    """
    inside = tag if tag == OUTSIDE else f"{INSIDE}-{entity_type(tag)}"
    return [tag, *[inside] * (len(word) - 1)]


def entity_type(tag: str) -> str:
    """Return the entity type of a tag; "" for O."""
    return "" if tag == OUTSIDE else tag[2:]


def _parts(tag: str, scheme: Scheme, index: int) -> tuple[str, str]:
    """Split a tag into prefix and entity type; both are empty for O."""
    prefix, dash, kind = tag.partition("-")
    if tag == OUTSIDE:
        return "", ""
    if not kind or prefix not in _PREFIXES[scheme]:
        forms = ", ".join(f"{letter}-TYPE" for letter in _PREFIXES[scheme])
        raise TagError(index, f"O, {forms}", "Check the column of `fields.tags`, and `scheme`.")
    return prefix, kind
