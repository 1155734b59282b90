"""Tagged texts as reports compare them: the entities of the file, and those that an export answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfattn.data.tag_targets import tags_of, words_of
from tfattn.features import ENDS, LABEL_IDS, STARTS, TAGS, TEXT, WORD_NUMBERS
from tfattn.formats.tag_schemes import BEGIN, INSIDE, OUTSIDE, spans
from tfattn.tasks.tagged_entities import Entity
from tfattn.trained.read_entities import read_entities

Span = tuple[int, int, str]  # the first character of an entity, the one after its last, and its type


@dataclass(frozen=True)
class TaggedText:
    """A row.

    Args:
        location: its file and line.
        text: as it was read.
        words: what has tags, its words or its characters: the first character of each, and the one after its last.
        true: the tag of each, in IOB2.
        entities: those that were predicted.
        certainty: (L,) of each character the score of the label that its word was given; 0 where nothing was read.
    """

    location: str
    text: str
    words: Sequence[tuple[int, int]]
    true: Sequence[str]
    entities: Sequence[Entity]
    certainty: np.ndarray

    @property
    def is_by_character(self) -> bool:
        """Whether characters have tags, and not words."""
        return len(self.words) > len(self.text.split(" "))

    @property
    def spans(self) -> tuple[set[Span], set[Span]]:
        """The entities of the file, and those that were predicted."""
        true = {(self.words[one.first][0], self.words[one.last][1], one.label) for one in spans(self.true)}
        return true, {(one.start, one.end, one.label) for one in self.entities}

    @property
    def predicted(self) -> list[str]:
        """The tag of each word, in IOB2, by the predicted entity that it is a part of."""
        return [self._tag(*word) for word in self.words]

    @property
    def is_right(self) -> bool:
        """Whether exactly the entities of the file were predicted."""
        true, predicted = self.spans
        return true == predicted

    @property
    def certainty_of_mistakes(self) -> float:
        """How certain the model was of its most certain mistake."""
        true, predicted = self.spans
        return max((float(self.certainty[start:end].max()) for start, end, _ in true ^ predicted), default=0.0)

    def _tag(self, start: int, end: int) -> str:
        for entity in self.entities:
            if entity.start < end and start < entity.end:
                return f"{BEGIN if entity.start >= start else INSIDE}-{entity.label}"
        return OUTSIDE


def tagged(
    rows: Sequence[Mapping[str, str]], predicted: Mapping[str, np.ndarray], labels: Sequence[str]
) -> list[TaggedText]:
    """Compare rows with what was predicted for them.

    Args:
        rows: N raw rows.
        predicted: of `TokenClassification.predictions`, each (N, ...).
        labels: the types of entities in the order of their numbers.
    """
    entities = read_entities([row[TEXT] for row in rows], predicted, labels)
    return [
        _tagged(row, {name: x[number] for name, x in predicted.items()}, entities[number])
        for number, row in enumerate(rows)
    ]


def _tagged(row: Mapping[str, str], predicted: Mapping[str, np.ndarray], entities: Sequence[Entity]) -> TaggedText:
    true = tags_of(row[TAGS], row["row"])
    is_word = predicted[WORD_NUMBERS] > 0
    certainty = np.zeros(len(row[TEXT]))
    parts = zip(*(predicted[name][is_word] for name in (STARTS, ENDS, LABEL_IDS, "scores")), strict=True)
    for start, end, label_id, scores in parts:
        certainty[start:end] = scores[label_id]
    return TaggedText(
        location=row["row"],
        text=row[TEXT],
        words=words_of(row[TEXT], true),
        true=true,
        entities=entities,
        certainty=certainty,
    )
