"""Tagged texts with true and predicted entities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tfattn.data.examples.tag_targets import tags_of, words_of
from tfattn.features import ENDS, LABEL_IDS, STARTS, TAGS, TEXT, WORD_NUMBERS
from tfattn.formats.tag_schemes import BEGIN, INSIDE, OUTSIDE, spans
from tfattn.tasks.tagged_entities import Entity
from tfattn.trained.read_entities import read_entities

Span = tuple[int, int, str]  # the first character of an entity, the one after its last, and its type


@dataclass(frozen=True)
class TaggedText:
    """A tagged text.

    Args:
        row: the raw row.
        text: the text.
        words: start and end of each tagged unit, a word or a character.
        true: the tag of each unit, in IOB2.
        entities: the predicted entities.
        certainty: (L,) per character the score of the predicted label of its word; 0 outside of words.
    """

    row: Mapping[str, str]
    text: str
    words: Sequence[tuple[int, int]]
    true: Sequence[str]
    entities: Sequence[Entity]
    certainty: np.ndarray

    @property
    def is_by_character(self) -> bool:
        """Whether the tagged units are characters."""
        return len(self.words) > len(self.text.split(" "))

    @property
    def spans(self) -> tuple[set[Span], set[Span]]:
        """The true and the predicted entities."""
        true = {(self.words[span.first][0], self.words[span.last][1], span.label) for span in spans(self.true)}
        return true, {(entity.start, entity.end, entity.label) for entity in self.entities}

    @property
    def predicted(self) -> list[str]:
        """The predicted tag of each unit, in IOB2."""
        return [self._tag(*word) for word in self.words]

    @property
    def is_right(self) -> bool:
        """Whether exactly the true entities are predicted."""
        true, predicted = self.spans
        return true == predicted

    @property
    def certainty_of_mistakes(self) -> float:
        """The score of the most confident error."""
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
    """Combine rows with their predictions.

    Args:
        rows: N raw rows.
        predicted: of `TokenClassification.predictions`, each (N, ...).
        labels: the types of entities in the order of their ids.
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
        row=row,
        text=row[TEXT],
        words=words_of(row[TEXT], true),
        true=true,
        entities=entities,
        certainty=certainty,
    )
