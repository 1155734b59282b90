"""Reordering of rows, and top-k of long rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops, tree

from tfattn.ops.cross_entropy import MIN_PROBABILITY
from tfattn.ops.indexing import pick

# Rows of at least MIN_GROUPED_WIDTH columns are searched in groups of GROUP_SIZE.
MIN_GROUPED_WIDTH = 512
GROUP_SIZE = 32


def reorder_rows(state: Any, beams: Any) -> Any:
    """Give each beam the state of the beam that it continues.

    Args:
        state: a nested structure of tensors of B W rows, the W beams of a row next to each other.
        beams: (B, W) int, 0 to W - 1, the beam of its row that each beam continues.

    Returns:
        the reordered state.
    """
    batch, num_beams = ops.shape(beams)
    rows = ops.reshape(ops.arange(batch, dtype="int32")[:, None] * num_beams + beams, (-1,))
    return tree.map_structure(lambda x: ops.take(x, rows, axis=0), state)


def grouped(x: Any, *, fill: float) -> Any:
    """Split each row into groups, the last padded with `fill`: (N, V) -> (N, groups, size). V must be static."""
    width = x.shape[-1]
    size = GROUP_SIZE if width >= MIN_GROUPED_WIDTH else 1
    num_groups = -(-width // size)
    if num_groups * size > width:
        x = ops.pad(x, ((0, 0), (0, num_groups * size - width)), constant_values=fill)
    return ops.reshape(x, (-1, num_groups, size))


def largest(x: Any, k: int, *, suppressed_ids: Sequence[int] = ()) -> tuple[Any, Any]:
    """Find the k largest numbers of each row, largest first.

    The k largest numbers are in the k groups with the largest maxima, so that only these groups are sorted: several
    times faster than ops.top_k on rows of thousands.

    Args:
        x: (N, V) float32, with a static V.
        k: the number of results.
        suppressed_ids: columns that are treated as minus infinity.

    Returns:
        the numbers (N, k) and their columns (N, k) int32; V of each if k is more than V.

    Example:
        >>> values, ids = largest(ops.convert_to_tensor([[1.0, 5.0, 3.0]]), 2)
        >>> ids.numpy().tolist()
        [[1, 2]]
    """
    groups = grouped(x, fill=-np.inf)
    _, num_groups, size = groups.shape
    # A suppressed column may be the maximum of its group, which then displaces another group.
    shadowed_columns = len({column // size for column in suppressed_ids})
    _, best = ops.top_k(ops.max(groups, axis=-1), min(k + shadowed_columns, num_groups))
    columns = ops.reshape(best[:, :, None] * size + ops.arange(size, dtype="int32"), (-1, best.shape[1] * size))
    candidates = ops.reshape(pick(groups, best), ops.shape(columns))
    if suppressed_ids:
        candidates = candidates + ops.take(suppression_bias(suppressed_ids, num_groups * size), columns, axis=0)
    values, indices = ops.top_k(candidates, min(k, x.shape[-1]))
    return values, pick(columns, indices)


def logsumexp(logits: Any, token_ids: Any) -> Any:
    """Compute the logsumexp of each row's logits from the probability of a token.

    Softmax is a single operation, ops.logsumexp four passes over the logits.

    Args:
        logits: (N, V) float32.
        token_ids: (N, 1) int, a token of each row whose probability is not close to 0.

    Returns:
        (N, 1).
    """
    probability = pick(ops.softmax(logits, axis=-1), token_ids)
    return pick(logits, token_ids) - ops.log(ops.maximum(probability, MIN_PROBABILITY))


def suppression_bias(suppressed_ids: Sequence[int], width: int) -> Any:
    """Return a bias that suppresses columns of logits: (width,) float32, minus infinity at these columns, else 0."""
    bias = np.zeros(width, "float32")
    bias[list(suppressed_ids)] = -np.inf
    return ops.convert_to_tensor(bias)
