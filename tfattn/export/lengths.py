"""Texts of every length that a model may have to read."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfattn.export.text import TextClassifier

MOST_EXAMPLES = 1000  # rows that are looked through for one of each length
LONGEST = 2**14  # characters, which are cut to as many tokens as the model takes


def one_of_each_length(served: "TextClassifier", rows: dict[str, Sequence[str]]) -> dict[str, list[str]]:
    """A row for each power of two that its length in tokens can round up to, shortest first; real ones if there are.

    Args:
        served: what makes tokens of texts.
        rows: example texts by field.
    """
    some = {field: list(values[:MOST_EXAMPLES]) for field, values in rows.items()}
    candidates = {field: [*values, *_of_all_lengths(values)] for field, values in some.items()}
    lengths = np.sum(served.tokens(candidates)["padding_mask"], axis=1)
    _, first_of_bucket = np.unique(np.ceil(np.log2(np.maximum(lengths, 1))), return_index=True)
    chosen = [*first_of_bucket[:-1], len(lengths) - 1]  # the last is as long as the model takes
    return {field: [values[index] for index in chosen] for field, values in candidates.items()}


def _of_all_lengths(texts: list[str]) -> list[str]:
    longest = " ".join(itertools.islice(itertools.cycle(texts), LONGEST))
    return [longest[: 2**power] for power in range(LONGEST.bit_length())]
