"""Cross-entropy over a vocabulary."""

from typing import Any

from keras import ops


def smoothed_cross_entropy(logits: Any, target_ids: Any, *, smoothing: float) -> Any:
    """How surprising each target is, in nats.

    -sum(q log softmax(logits)), where q is 1 - smoothing + smoothing / V at the target and smoothing / V elsewhere.

    Args:
        logits: (..., V), of any floating type; computed in float32.
        target_ids: (...) int.
        smoothing: from 0 to 1.

    Returns:
        (...) float32.

    Example:
        >>> float(smoothed_cross_entropy(ops.zeros((1, 4)), ops.array([2]), smoothing=0.1)[0])  # log 4
        1.3862944

    Source: Szegedy et al. 2016, "Rethinking the inception architecture", section 7.
    """
    logits = ops.cast(logits, "float32")
    loss = ops.sparse_categorical_crossentropy(target_ids, logits, from_logits=True)
    if not smoothing:
        return loss
    # -log p(target) is loss, and the mean over all tokens of -log p is loss + logit(target) - mean(logits): the softmax
    # over the vocabulary is made once.
    at_target = ops.take_along_axis(logits, target_ids[..., None], axis=-1)[..., 0]
    return loss + smoothing * (at_target - ops.mean(logits, axis=-1))
