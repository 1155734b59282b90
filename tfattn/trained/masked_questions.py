"""Masked language models as people ask them: texts in which [MASK] stands for a word."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfattn.features import MASKED_LM_POSITIONS
from tfattn.preprocessing.masked_text import MaskedText
from tfattn.preprocessing.vocabulary import MASK
from tfattn.trained.ensemble import TrainedEnsemble

MOST_WORDS = 24  # of a question


class Question(NamedTuple):
    """A part of a row's text, some words of which are hidden.

    Attributes:
        text: with [MASK] in their place.
        hidden: what stood there, in order.
        row: file and line of the row.
    """

    text: str
    hidden: tuple[str, ...]
    row: str


def reading_masks(ensemble: TrainedEnsemble) -> TrainedEnsemble:
    """Return the same model, for which [MASK] in a text is the token."""
    (wordpiece,), (task,) = ensemble.preprocessors, ensemble.tasks
    return TrainedEnsemble([(MaskedText(wordpiece), task)])


def questions(
    reading: TrainedEnsemble, rows: Sequence[Mapping[str, str]], *, most: int, masks: int = 1
) -> list[Question]:
    """Hide words of some rows, taken evenly; one question at least, and none whose end would not be read.

    Args:
        reading: of `reading_masks`.
        rows: raw rows.
        most: how many rows.
        masks: how many words to hide of each; fewer where there are not so many.
    """
    preprocessor = reading.preprocessor
    (field,) = preprocessor.fields
    places = np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(int))
    asked = [_question(rows[place][field], rows[place].get("row", ""), masks) for place in places]
    found = preprocessor({field: tf.constant([one.text for one in asked])})[MASKED_LM_POSITIONS].row_lengths()
    read = [one for one, count in zip(asked, found.numpy(), strict=True) if count == len(one.hidden) > 0]
    return read or [Question(MASK, (), "")]


def _question(text: str, row: str, masks: int) -> Question:
    """Hide words of the longest of the first lines, or characters where it has no spaces."""
    lines = [line.split()[:MOST_WORDS] for line in text.splitlines()[:MOST_WORDS]]
    words = max(lines, key=lambda line: sum(map(len, line)), default=[])
    between = " " if len(words) > 1 else ""
    units = words if between else list("".join(words)[:MOST_WORDS])
    places = sorted({(number + 1) * len(units) // (masks + 1) for number in range(masks)} & set(range(len(units))))
    shown = between.join(MASK if place in places else unit for place, unit in enumerate(units))
    return Question(shown or MASK, tuple(units[place] for place in places), row)
