"""Reordering rows, and finding the largest numbers of long ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops, tree

from tfattn.ops.cross_entropy import SMALLEST
from tfattn.ops.indexing import pick

# Rows at least this long are looked at in groups.
LONG = 512
GROUP = 32


def reorder_rows(state: Any, beams: Any) -> Any:
    """Give each beam the state of the beam that it continues.

    Args:
        state: a nested structure of tensors of B W rows, the W beams of a row next to each other.
        beams: (B, W) int, 0 to W - 1, the beam of its row that each continues.

    Returns:
        the state in its new order.
    """
    batch, num_beams = ops.shape(beams)
    rows = ops.reshape(ops.arange(batch, dtype="int32")[:, None] * num_beams + beams, (-1,))
    return tree.map_structure(lambda x: ops.take(x, rows, axis=0), state)


def grouped(x: Any, *, fill: float) -> Any:
    """Cut each row into groups and fill up the last: (N, V) -> (N, groups, size). V has to be known in graphs."""
    width = x.shape[-1]
    size = GROUP if width >= LONG else 1
    num_groups = -(-width // size)
    if num_groups * size > width:
        x = ops.pad(x, ((0, 0), (0, num_groups * size - width)), constant_values=fill)
    return ops.reshape(x, (-1, num_groups, size))


def largest(x: Any, k: int, *, suppressed_ids: Sequence[int] = ()) -> tuple[Any, Any]:
    """Return the k largest numbers of each row, largest first.

    A number that is among the k largest stands in one of the k groups whose own largest numbers are largest, so only
    those groups are sorted: several times faster than ops.top_k on rows of thousands.

    Args:
        x: (N, V) float32, V known when a graph is made.
        k: how many.
        suppressed_ids: columns that count as minus infinity.

    Returns:
        the numbers (N, k) and their columns (N, k) int32; V of each if k is more than V.

    Example:
        >>> values, ids = largest(ops.convert_to_tensor([[1.0, 5.0, 3.0]]), 2)
        >>> ids.numpy().tolist()
        [[1, 2]]
    """
    groups = grouped(x, fill=-np.inf)
    _, num_groups, size = groups.shape
    # Each group with a suppressed column may look larger than it is and take the place of another.
    shadowed_columns = len({column // size for column in suppressed_ids})
    _, best = ops.top_k(ops.max(groups, axis=-1), min(k + shadowed_columns, num_groups))
    columns = ops.reshape(best[:, :, None] * size + ops.arange(size, dtype="int32"), (-1, best.shape[1] * size))
    candidates = ops.reshape(pick(groups, best), ops.shape(columns))
    if suppressed_ids:
        candidates = candidates + ops.take(suppression_bias(suppressed_ids, num_groups * size), columns, axis=0)
    values, places = ops.top_k(candidates, min(k, x.shape[-1]))
    return values, pick(columns, places)


def logsumexp(logits: Any, token_ids: Any) -> Any:
    """Return the logarithm of the sum of the exponentials of each row's logits.

    It is computed from the probability of one token: softmax is one operation, ops.logsumexp four that pass over all.

    Args:
        logits: (N, V) float32.
        token_ids: (N, 1) int, for each row a token whose probability is not close to 0.

    Returns:
        (N, 1).
    """
    probability = pick(ops.softmax(logits, axis=-1), token_ids)
    return pick(logits, token_ids) - ops.log(ops.maximum(probability, SMALLEST))


def suppression_bias(suppressed_ids: Sequence[int], width: int) -> Any:
    """Return what suppresses columns when it is added to logits: (width,) float32, minus infinity there, else 0."""
    bias = np.zeros(width, "float32")
    bias[list(suppressed_ids)] = -np.inf
    return ops.convert_to_tensor(bias)
