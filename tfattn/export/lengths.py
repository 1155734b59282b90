"""Texts of every length that a model may have to read."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MOST_EXAMPLES = 1000  # rows that are looked through for one of each length
LONGEST = 2**14  # characters, which are cut to as many tokens as the model takes


def one_of_each_length(
    lengths_of: Callable[[dict[str, list[Any]]], np.ndarray], rows: dict[str, Sequence[str | list[str]]]
) -> dict[str, list[Any]]:
    """Choose a row for each power of two that its length can round up to, shortest first; real ones if there are.

    Args:
        lengths_of: how many tokens each row has, (N,), given N texts by field.
        rows: example texts by field, or lists of texts, all equally long.
    """
    some = {field: list(values[:MOST_EXAMPLES]) for field, values in rows.items()}
    candidates = {field: [*values, *_of_all_lengths(values)] for field, values in some.items()}
    lengths = lengths_of(candidates)
    _, first_of_bucket = np.unique(np.ceil(np.log2(np.maximum(lengths, 1))), return_index=True)
    chosen = [*first_of_bucket[:-1], len(lengths) - 1]  # the last is as long as the model takes
    return {field: [values[index] for index in chosen] for field, values in candidates.items()}


def _of_all_lengths(texts: list[Any]) -> list[Any]:
    if isinstance(texts[0], list):
        return [list(others) for others in zip(*map(_of_all_lengths, zip(*texts, strict=True)), strict=True)]
    longest = " ".join(itertools.islice(itertools.cycle(texts), LONGEST))
    return [longest[: 2**power] for power in range(LONGEST.bit_length())]
