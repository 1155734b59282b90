"""Attention masks: True where a query (row) may see a key (column).

Every mask broadcasts to the attention scores, (B, H, T, S). Masks are combined once, before they are used.
"""

from typing import Any

from keras import ops


def padding(padding_mask: Any) -> Any:
    """Hide padded keys from every query.

    Args:
        padding_mask: (B, S), True (or not 0) at real tokens.

    Returns:
        (B, 1, 1, S) bool.
    """
    return ops.cast(padding_mask, "bool")[:, None, None, :]


def same_sequence(sequence_ids: Any) -> Any:
    """Hide keys of other sequences that are packed into the same row.

    Args:
        sequence_ids: (B, T) int, the sequence of each token, from 1; 0 at padding.

    Returns:
        (B, 1, T, T) bool. Padding sees padding, so that every query sees a key.
    """
    return (sequence_ids[:, :, None] == sequence_ids[:, None, :])[:, None]


def bidirectional(padding_mask: Any = None, sequence_ids: Any = None) -> Any:
    """Return the mask of an encoder: every token sees all real tokens of its own text.

    Args:
        padding_mask: (B, T), True at real tokens; None if all are real.
        sequence_ids: (B, T), as `same_sequence`, for packed texts; None if every row is one text.

    Returns:
        (B, 1, 1, T) or (B, 1, T, T) bool; None if nothing is hidden.
    """
    if sequence_ids is not None:
        return same_sequence(sequence_ids)
    return None if padding_mask is None else padding(padding_mask)


def causal(num_queries: Any, num_keys: Any, offset: Any = 0) -> Any:
    """Hide later keys: query t sees keys 0 to t + offset.

    Args:
        num_queries: T, a number or a scalar tensor.
        num_keys: S, a number or a scalar tensor.
        offset: the position of the first query among the keys; with a key/value cache, the number of cached steps.

    Returns:
        (1, 1, T, S) bool.
    """
    queries = ops.arange(num_queries, dtype="int32") + ops.cast(offset, "int32")
    keys = ops.arange(num_keys, dtype="int32")
    return (queries[:, None] >= keys[None, :])[None, None]


def within(length: Any, distance: int) -> Any:
    """Hide keys that are more than `distance` positions before or after the query.

    Args:
        length: T, a number or a scalar tensor.
        distance: the number of visible positions on each side.

    Returns:
        (1, 1, T, T) bool.
    """
    positions = ops.arange(length, dtype="int32")
    return (ops.abs(positions[:, None] - positions[None, :]) <= distance)[None, None]


def window(query_positions: Any, key_positions: Any, size: int) -> Any:
    """Hide keys that are `size` or more positions before the query; later keys are not hidden.

    Args:
        query_positions: (B, T) int, or (1, T) if the positions of all rows are equal.
        key_positions: (B, S) int, or (1, S).
        size: the number of visible positions, the query's own position included.

    Returns:
        (B, 1, T, S) bool.
    """
    return (query_positions[:, :, None] - key_positions[:, None, :] < size)[:, None]


def continued(origins: Any, index: Any) -> Any:
    """Let each beam see the positions that it continues, in key/value caches that are never reordered.

    Args:
        origins: (B, W, S) int, the beam, 0 to W - 1, whose cache has position s of the text of beam w.
        index: the current position, the last visible position, a scalar.

    Returns:
        (B, 1, W, W S) bool: for each beam, the positions of all W caches, concatenated.
    """
    batch, num_beams, num_steps = ops.shape(origins)
    is_own = origins[:, :, None] == ops.arange(num_beams, dtype="int32")[:, None]  # (B, W, W, S)
    is_past = ops.arange(num_steps, dtype="int32") <= ops.cast(index, "int32")
    return ops.reshape(ops.logical_and(is_own, is_past), (batch, 1, num_beams, num_beams * num_steps))


def combine(*masks: Any) -> Any:
    """Combine masks by logical and; None is a mask that hides nothing.

    Returns:
        a bool mask of the broadcast shape, or None if all are None.
    """
    combined = None
    for mask in masks:
        if mask is not None:
            combined = mask if combined is None else ops.logical_and(combined, mask)
    return combined
