"""The context windows of words, in blocks of words that are computed together."""

from typing import Any

import numpy as np
from keras import ops

# The number of words of a block for each negative sample.
WORDS_PER_NEGATIVE = 2


def in_blocks(x: Any, size: int) -> Any:
    """Split rows into blocks, the last padded with 0: (B, T, ...) -> (B, ceil(T / size), size, ...)."""
    rows, length, *rest = ops.shape(x)
    filler = ops.zeros((rows, -length % size, *rest), dtype=x.dtype)
    return ops.reshape(ops.concatenate([x, filler], axis=1), (rows, -1, size, *rest))


def near(before: Any, after: Any) -> Any:
    """Compute which words of its block are in the window of each word.

    A window is the difference of two rows of a triangular matrix. The lookup takes a third of the time of comparing
    each position with each bound.

    Args:
        before: (..., L) int, the number of words in the window before a word.
        after: (..., L) int, the number of words in the window after a word.

    Returns:
        (..., L, L) float32, 1 for the other words in the window of each word, else 0.
    """
    length = before.shape[-1]
    positions = ops.arange(length, dtype=before.dtype)
    is_before = ops.convert_to_tensor(np.tri(length + 1, length, -1, "float32"))  # (L + 1, L)
    starts, ends = ops.maximum(positions - before, 0), ops.minimum(positions + after + 1, length)
    before_end, before_start = (ops.take(is_before, bounds, axis=0) for bounds in (ends, starts))
    return before_end - before_start - ops.eye(length)
