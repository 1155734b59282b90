"""The best spans of sequences, by scores of their starts and ends."""

from typing import Any

from keras import ops

NEVER = -1e9  # the score of an impossible start or end; finite, to avoid NaN


def best_spans(
    start_scores: Any, end_scores: Any, *, may_start: Any, may_end: Any, max_length: int, count: int
) -> tuple[Any, Any, Any]:
    """Find the spans of each row with the highest sums of start and end scores.

    Args:
        start_scores, end_scores: (B, T) float32.
        may_start, may_end: (B, T) bool, the allowed start and end positions.
        max_length: the maximum number of positions of a span.
        count: K.

    Returns:
        scores (B, K) float32, best first, and the first and last positions of the spans, (B, K) int32 each. Without
        further spans the scores are about NEVER and the positions 0.

    Example:
        >>> scores, first, last = best_spans(
        ...     ops.array([[1.0, 3.0, 0.0]]), ops.array([[2.0, 0.0, 1.0]]), may_start=ops.ones((1, 3), "bool"),
        ...     may_end=ops.ones((1, 3), "bool"), max_length=2, count=2)
        >>> scores.numpy().tolist(), first.numpy().tolist(), last.numpy().tolist()
        ([[4.0, 3.0]], [[1, 0]], [[2, 0]])
    """
    start_scores = ops.where(may_start, start_scores, NEVER)
    end_scores = ops.where(may_end, end_scores, NEVER)
    width = ops.shape(start_scores)[1]
    padded = ops.pad(end_scores, [[0, 0], [0, max_length - 1]], constant_values=NEVER)
    ends = ops.stack([padded[:, length : length + width] for length in range(max_length)], axis=-1)  # (B, T, L)
    sums = ops.reshape(start_scores[:, :, None] + ends, (-1, width * max_length))
    scores, indices = ops.top_k(ops.pad(sums, [[0, 0], [0, count]], constant_values=2 * NEVER), count)
    indices = ops.where(scores > NEVER / 2, ops.cast(indices, "int32"), 0)
    first = indices // max_length
    return ops.maximum(scores, NEVER), first, first + indices % max_length
