"""Which words of a text stand near each other, in blocks of words that are computed together."""

from typing import Any

from keras import ops

# One word drawn at random serves as many words of a block.
WORDS_PER_NOISE = 2


def in_blocks(x: Any, size: int) -> Any:
    """Cut rows into blocks, the last of which is filled up with 0: (B, T, ...) -> (B, ceil(T / size), size, ...)."""
    rows, length, *rest = ops.shape(x)
    filler = ops.zeros((rows, -length % size, *rest), dtype=x.dtype)
    return ops.reshape(ops.concatenate([x, filler], axis=1), (rows, -1, size, *rest))


def near(windows: Any, sequence_ids: Any) -> Any:
    """Tell which words stand in the window of which.

    Args:
        windows: (..., L) int, how many words on each side of a word belong to its window.
        sequence_ids: (..., L) int, which text each word is of, 0 where there is none; windows end with texts.

    Returns:
        (..., L, L) bool, of each word the others in its window.
    """
    places = ops.arange(windows.shape[-1])
    distances = ops.abs(places[None, :] - places[:, None])  # (L, L)
    is_near = (distances > 0) & (distances <= windows[..., None])
    return is_near & (sequence_ids[..., :, None] == sequence_ids[..., None, :]) & (sequence_ids[..., :, None] > 0)
