"""Mean and variance over the positions of a batch, for batch normalization.

A training step may compute a batch in parts, on replicas or as micro-batches. It opens a `BatchScope`, within which the
moments are those of the whole batch.
"""

from contextvars import ContextVar, Token
from typing import Any, NamedTuple

from keras import ops


class Moments(NamedTuple):
    """The moments of positions, float32.

    Attributes:
        count: () the number of positions.
        mean: (D,), 0 without positions.
        variance: (D,), the mean squared distance from the mean.
    """

    count: Any
    mean: Any
    variance: Any


class BatchScope:
    """A context within which `batch_moments` reads a batch that is not divided.

    Subclasses read a batch that is divided into parts.

    Args:
        real_rows: (B,), True (or not 0) for the rows that count: others only fill the batch. None if all rows count.

    Example:
        >>> with BatchScope(real_rows=[True, False]):
        ...     moments = batch_moments([[[1.0], [3.0]], [[5.0], [7.0]]])
        >>> float(moments.count), moments.mean.numpy().tolist(), moments.variance.numpy().tolist()
        (2.0, [2.0], [1.0])
    """

    def __init__(self, real_rows: Any = None):
        self.real_rows = real_rows
        self._tokens: list[Token] = []

    def __enter__(self) -> "BatchScope":
        self._tokens.append(_SCOPE.set(self))
        return self

    def __exit__(self, *_: Any) -> None:
        _SCOPE.reset(self._tokens.pop())

    def total(self, values: Any) -> Any:
        """Sum a tensor over all parts of the batch."""
        return values

    def moments(self, x: Any, is_real: Any) -> Moments:
        """Compute the moments of the real vectors of (N, D) float32; `is_real` is (N, 1) bool."""
        # The mean first: the difference of mean square and squared mean would lose digits.
        width = x.shape[-1]
        sums = self.total(ops.concatenate([ops.sum(ops.where(is_real, x, 0.0), axis=0), _count(is_real)]))
        count = ops.maximum(sums[width], 1.0)
        mean = sums[:width] / count
        squares = self.total(ops.sum(ops.square(ops.where(is_real, x - mean, 0.0)), axis=0))
        return Moments(sums[width], mean, squares / count)


def batch_moments(x: Any, padding_mask: Any = None) -> Moments:
    """Compute mean and variance of each component over the real positions of a batch, in float32.

    The gradient includes the influence of each position on the moments.

    Args:
        x: (B, ..., D), or (B k, ..., D) where each row of the batch has k consecutive rows.
        padding_mask: of the shape of x without D, True (or not 0) at real positions; None if all are real.

    Returns:
        the moments over all parts of the batch, see `BatchScope`.

    Example:
        >>> batch_moments([[[1.0], [3.0]], [[8.0], [9.0]]], [[True, True], [True, False]]).mean.numpy().tolist()
        [4.0]

    Source: Ioffe and Szegedy 2015, "Batch normalization", algorithm 1; padding is excluded.
    """
    scope = _SCOPE.get() or BatchScope()
    x = ops.cast(x, "float32")
    width = x.shape[-1]
    rows = ops.shape(x)[0] if scope.real_rows is None else ops.shape(scope.real_rows)[0]
    x = ops.reshape(x, (rows, -1, width))
    is_real = ops.ones_like(x[..., :1], dtype="bool")
    if padding_mask is not None:
        is_real = ops.reshape(ops.cast(padding_mask, "bool"), (rows, -1, 1))
    if scope.real_rows is not None:
        is_real = ops.logical_and(is_real, ops.cast(scope.real_rows, "bool")[:, None, None])
    return scope.moments(ops.reshape(x, (-1, width)), ops.reshape(is_real, (-1, 1)))


def _count(is_real: Any) -> Any:
    return ops.sum(ops.cast(is_real, "float32"), axis=0)


_SCOPE: ContextVar[BatchScope | None] = ContextVar("batch_scope", default=None)
