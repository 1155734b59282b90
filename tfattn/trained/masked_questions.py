"""Sample questions for masked language models: texts in which some words are replaced by [MASK]."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import tensorflow as tf

from tfattn.features import MASKED_LM_POSITIONS
from tfattn.preprocessing.masked_text import MaskedText
from tfattn.preprocessing.vocabulary import MASK
from tfattn.rows import evenly_spaced
from tfattn.trained.ensemble import TrainedEnsemble

MAX_WORDS = 24  # words of a question


class MaskedQuestion(NamedTuple):
    """A part of a row's text with masked words.

    Attributes:
        text: the text with [MASK] instead of the words.
        hidden: the masked words, in order.
        row: file and line of the row.
    """

    text: str
    hidden: tuple[str, ...]
    row: str


def with_mask_tokens(ensemble: TrainedEnsemble) -> TrainedEnsemble:
    """Return the same model with a preprocessor that reads [MASK] in a text as the token."""
    (tokenizer,), (task,) = ensemble.preprocessors, ensemble.tasks
    return TrainedEnsemble([(MaskedText(tokenizer), task)])


def sample_questions(
    ensemble: TrainedEnsemble, rows: Sequence[Mapping[str, str]], *, limit: int, masks: int = 1
) -> list[MaskedQuestion]:
    """Mask words of evenly spaced rows; return at least one question, and none with a truncated mask.

    Args:
        ensemble: a result of `with_mask_tokens`.
        rows: raw rows.
        limit: the maximum number of rows.
        masks: the number of words to mask in each row; fewer in a short row.
    """
    preprocessor = ensemble.preprocessor
    (field,) = preprocessor.fields
    questions = [_question(row[field], row.get("row", ""), masks) for row in evenly_spaced(rows, limit)]
    texts = tf.constant([question.text for question in questions])
    counts = preprocessor({field: texts})[MASKED_LM_POSITIONS].row_lengths().numpy()
    complete = [
        question for question, count in zip(questions, counts, strict=True) if count == len(question.hidden) > 0
    ]
    return complete or [MaskedQuestion(MASK, (), "")]


def _question(text: str, row: str, masks: int) -> MaskedQuestion:
    """Mask words of the longest of the first lines, or characters if it has no spaces."""
    lines = [line.split()[:MAX_WORDS] for line in text.splitlines()[:MAX_WORDS]]
    words = max(lines, key=lambda line: sum(map(len, line)), default=[])
    separator = " " if len(words) > 1 else ""
    units = words if separator else list("".join(words)[:MAX_WORDS])
    masked = sorted({(number + 1) * len(units) // (masks + 1) for number in range(masks)} & set(range(len(units))))
    shown = separator.join(MASK if index in masked else unit for index, unit in enumerate(units))
    return MaskedQuestion(shown or MASK, tuple(units[index] for index in masked), row)
