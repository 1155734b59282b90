"""Which words of a text stand near each other, in blocks of words that are computed together."""

from typing import Any

import numpy as np
from keras import ops

# One word drawn at random serves as many words of a block.
WORDS_PER_NEGATIVE = 2


def in_blocks(x: Any, size: int) -> Any:
    """Cut rows into blocks, the last of which is filled up with 0: (B, T, ...) -> (B, ceil(T / size), size, ...)."""
    rows, length, *rest = ops.shape(x)
    filler = ops.zeros((rows, -length % size, *rest), dtype=x.dtype)
    return ops.reshape(ops.concatenate([x, filler], axis=1), (rows, -1, size, *rest))


def near(before: Any, after: Any) -> Any:
    """Tell which words of its block stand in the window of each word.

    Rows are looked up that tell which places stand before a bound: the difference of two of them is a window. That
    takes a third of the time of comparing each place with each bound.

    Args:
        before: (..., L) int, how many words before a word belong to its window.
        after: (..., L) int, how many behind it.

    Returns:
        (..., L, L) float32, 1 for the others in the window of each word, else 0.
    """
    length = before.shape[-1]
    places = ops.arange(length, dtype=before.dtype)
    stands_before = ops.convert_to_tensor(np.tri(length + 1, length, -1, "float32"))  # (L + 1, L)
    begins, ends = ops.maximum(places - before, 0), ops.minimum(places + after + 1, length)
    upto_end, upto_begin = (ops.take(stands_before, bounds, axis=0) for bounds in (ends, begins))
    return upto_end - upto_begin - ops.eye(length)
