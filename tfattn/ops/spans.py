"""The best spans of sequences, by the scores of where they may begin and end."""

from typing import Any

from keras import ops

NEVER = -1e9  # of what cannot be; a finite number, so that nothing becomes NaN


def best_spans(
    start_scores: Any, end_scores: Any, *, may_start: Any, may_end: Any, max_length: int, count: int
) -> tuple[Any, Any, Any]:
    """Find the spans of each row whose begin and end together score best.

    Args:
        start_scores, end_scores: (B, T) float32.
        may_start, may_end: (B, T) bool, where spans may begin, and where they may end.
        max_length: the most places of a span.
        count: K.

    Returns:
        scores (B, K) float32, best first, about NEVER where there are no more spans; and their first and last places,
        (B, K) int32 each, 0 there.

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
    behind = ops.pad(end_scores, [[0, 0], [0, max_length - 1]], constant_values=NEVER)
    ends = ops.stack([behind[:, length : length + width] for length in range(max_length)], axis=-1)  # (B, T, L)
    sums = ops.reshape(start_scores[:, :, None] + ends, (-1, width * max_length))
    scores, places = ops.top_k(ops.pad(sums, [[0, 0], [0, count]], constant_values=2 * NEVER), count)
    places = ops.where(scores > NEVER / 2, ops.cast(places, "int32"), 0)
    first = places // max_length
    return ops.maximum(scores, NEVER), first, first + places % max_length
