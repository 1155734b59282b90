"""Entities of one text in plain Python, from what is predicted for its words: for reports and comparisons."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from tfattn.features import ENDS, LABEL_IDS, STARTS, WORD_NUMBERS


class Entity(NamedTuple):
    """An entity.

    Attributes:
        label: its type.
        start, end: its first character in the text, and the one behind its last.
        score: the mean score of its words' labels.
    """

    label: str
    start: int
    end: int
    score: float


def tags_of(label_ids: Sequence[int], labels: Sequence[str]) -> list[str]:
    """Write labels as tags: 0 is O, 2 k + 1 is B of type k, 2 k + 2 is I."""
    return ["O" if not one else f"{'BI'[(one - 1) % 2]}-{labels[(one - 1) // 2]}" for one in label_ids]


def entities_of(predicted: Mapping[str, np.ndarray], row: int, labels: Sequence[str]) -> list[Entity]:
    """List the entities of a row, in order; see `TokenClassification.predictions`."""
    words = np.flatnonzero(predicted[WORD_NUMBERS][row])
    label_ids, scores = predicted[LABEL_IDS][row][words], predicted["scores"][row][words]
    starts, ends = predicted[STARTS][row][words], predicted[ENDS][row][words]
    found: list[list[int]] = []  # the places of the words of each
    before = 0
    for place, label_id in enumerate(label_ids):
        kind = (label_id + 1) // 2
        if kind and (label_id % 2 or kind != before):
            found.append([place])
        elif kind:
            found[-1].append(place)
        before = kind
    return [
        Entity(
            label=labels[(label_ids[one[0]] - 1) // 2],
            start=int(starts[one[0]]),
            end=int(ends[one[-1]]),
            score=float(np.mean([scores[place][label_ids[place]] for place in one])),
        )
        for one in found
    ]
