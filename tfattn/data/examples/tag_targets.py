"""Targets of tagging: a tag per word, for the entities of a text."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.examples.encoding import Feature
from tfattn.data.examples.targets import Target
from tfattn.errors import ConfigError, DataError, listed, nearest
from tfattn.features import IS_TAGGED, LABEL_IDS, TAGS, TEXT
from tfattn.formats.source import Row
from tfattn.formats.tag_schemes import BEGIN, OUTSIDE, TagError, entity_type, to_iob2

_WORD, _CHARACTER = re.compile("[^ ]+"), re.compile("[^ ]")


class TaggedWord(NamedTuple):
    """A tagged word, or a tagged character, with its labels.

    Attributes:
        start: offset of the first character in the text.
        first: label of the first part of the word.
        others: label of the other parts, if punctuation divides the word.
    """

    start: int
    first: int
    others: int


class Tags(Target):
    """Tags in IOB2, from the role `tags`: a list, or a text with spaces between; one for each word of `text`.

    Words are separated by spaces. In languages without spaces, each character has a tag instead; the number of tags
    decides. The label of a word is 0 outside of entities, 2 k + 1 at the first word of an entity of type k, and 2 k + 2
    inside of the entity.

    Args:
        labels: the allowed entity types; a row with another type is an error. By default the types of training rows, in
            alphabetical order.

    Raises:
        ConfigError: there is no type, or a type is duplicated.
    """

    roles = (TEXT, TAGS)
    text_roles = (TEXT,)

    def __init__(self, *, labels: list[str] | None = None):
        if labels is not None and len(set(labels)) != max(1, len(labels)):
            raise ConfigError(
                "not a list of types", key="labels", expected="at least one, each once", received=", ".join(labels)
            )
        self._known = labels
        self.use({"labels": labels, "counts": [1] * len(labels or "a")})

    @property
    def features(self) -> dict[str, Feature]:
        return {name: Feature("int64", (None,), role="target") for name in (LABEL_IDS, IS_TAGGED)}

    @property
    def facts(self) -> dict[str, Any]:
        """Return `labels`, the entity types in the order of their ids, and `counts`, training rows per type.

        Before `fit`, if the types are unknown, there is one count, and `labels` is None.
        """
        return self._facts

    def use(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._ids = {name: number for number, name in enumerate(facts["labels"] or ())}

    def check(self, row: Row) -> None:
        """Check that there is a tag per word or character, in IOB2, and of an allowed type."""
        tags, text = tags_of(row.fields[TAGS], row.where), row.fields[TEXT]
        if len(tags) != len(words_of(text, tags)):
            words, characters = (len(found.findall(text)) for found in (_WORD, _CHARACTER))
            raise DataError(
                "there is not one tag for each word",
                where=row.where,
                expected=f"{words}, as the text has words with spaces between them, or {characters}, as it has "
                "characters",
                received=f"{len(tags)} tags",
            )
        try:
            to_iob2(tags, "iob2")
        except TagError as error:
            raise DataError(
                f"tag {error.index + 1} is not IOB2",
                where=row.where,
                expected=error.expected,
                received=repr(tags[error.index]),
                remedy="Only the source `conll` reads tags of other schemes.",
            ) from None
        if self._known:
            self._check_types(self.classes(row), self._known, row.where, what="not a label of `data.targets.labels`")

    def classes(self, row: Row) -> Sequence[str]:
        """List the different types of entities that a row has, sorted."""
        return sorted({entity_type(tag) for tag in tags_of(row.fields[TAGS], row.where)} - {""})

    def stratum(self, row: Row) -> str:
        return json.dumps(self.classes(row), ensure_ascii=False)

    def fit(self, strata: DictionaryEncoded, rows: Iterable[Row]) -> None:
        """Find and count the types.

        Raises:
            DataError: there is none.
        """
        counts: dict[str, int] = dict.fromkeys(self._known or (), 0)
        for stratum, number in strata.counts.items():
            for name in json.loads(stratum):
                counts[name] = counts.get(name, 0) + number
        labels = self._known or sorted(counts)
        if not labels:
            raise DataError(
                "there is nothing to find",
                expected="an entity in some training rows",
                received=f"{OUTSIDE} at every word",
                remedy="Check which column `fields.tags` names.",
            )
        self.use({"labels": labels, "counts": [counts[name] for name in labels]})

    def check_known(self, stratum: str, where: str) -> None:
        self._check_types(json.loads(stratum), self._ids, where, what="a tag that no training row has")

    def words(self, row: Row) -> list[TaggedWord]:
        """List the words of a row, or the characters where these have the tags, in order."""
        tags = tags_of(row.fields[TAGS], row.where)
        spans = words_of(row.fields[TEXT], tags)
        return [TaggedWord(start, *self._labels(tag)) for (start, _), tag in zip(spans, tags, strict=True)]

    def _labels(self, tag: str) -> tuple[int, int]:
        if tag == OUTSIDE:
            return 0, 0
        inside = 2 * self._ids[entity_type(tag)] + 2
        return inside - tag.startswith(BEGIN), inside

    def _check_types(self, names: Iterable[str], known: Iterable[str], where: str, *, what: str) -> None:
        for name in names:
            if name not in known:
                raise DataError(
                    what,
                    where=where,
                    expected=f"entities of type {listed(known)}",
                    received=repr(name),
                    remedy=nearest(name, known),
                )


def words_of(text: str, tags: Sequence[str]) -> list[tuple[int, int]]:
    """Find what tags are of: the words of a text, or its characters where there are not as many words.

    Returns:
        begin and end of each in characters.

    Example:
        >>> words_of("in Rome", ["O", "B-LOC"]), words_of("罗马", ["B-LOC", "I-LOC"])
        ([(0, 2), (3, 7)], [(0, 1), (1, 2)])
    """
    words = [word.span() for word in _WORD.finditer(text)]
    return words if len(words) == len(tags) else [character.span() for character in _CHARACTER.finditer(text)]


def tags_of(value: Any, where: str) -> list[str]:
    """Read the value of the role `tags`; `where` is its row, for the message.

    Raises:
        DataError: it is neither a list of texts nor a text.
    """
    if isinstance(value, str):
        return value.split()
    if not (isinstance(value, list) and all(type(tag) is str for tag in value)):
        raise DataError(
            "the value of `tags` is no list of tags",
            where=where,
            expected="a list of texts, or a text with spaces between them",
            received=json.dumps(value, ensure_ascii=False)[:40],
        )
    return value
