"""The entities of a text from the predictions for its words, in plain Python for reports and comparisons."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tfattn.features import ENDS, LABEL_IDS, STARTS, WORD_NUMBERS


class Entity(NamedTuple):
    """An entity.

    Attributes:
        label: its type.
        start, end: the offsets of its first character, and after its last character.
        score: the mean score of its words' labels.
    """

    label: str
    start: int
    end: int
    score: float


def tags_of(label_ids: Sequence[int], labels: Sequence[str]) -> list[str]:
    """Convert label ids to IOB2 tags: 0 is O, 2 k + 1 is B of type k, 2 k + 2 is I."""
    return ["O" if not index else f"{'BI'[(index - 1) % 2]}-{labels[(index - 1) // 2]}" for index in label_ids]


def entities_of(predicted: Mapping[str, np.ndarray], row: int, labels: Sequence[str]) -> list[Entity]:
    """List the entities of a row, in order; see `TokenClassification.predictions`."""
    words = np.flatnonzero(predicted[WORD_NUMBERS][row])
    label_ids, scores = predicted[LABEL_IDS][row][words], predicted["scores"][row][words]
    starts, ends = predicted[STARTS][row][words], predicted[ENDS][row][words]
    entities: list[list[int]] = []  # the word indices of each entity
    previous = 0
    for index, label_id in enumerate(label_ids):
        kind = (label_id + 1) // 2
        if kind and (label_id % 2 or kind != previous):
            entities.append([index])
        elif kind:
            entities[-1].append(index)
        previous = kind
    return [
        Entity(
            label=labels[(label_ids[indices[0]] - 1) // 2],
            start=int(starts[indices[0]]),
            end=int(ends[indices[-1]]),
            score=float(np.mean([scores[index][label_ids[index]] for index in indices])),
        )
        for indices in entities
    ]
