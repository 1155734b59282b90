"""Low-rank changes of linear maps."""

from collections.abc import Sequence
from typing import Any

from keras import ops

# The two factors of a map's change, (D, r) and (r, F); or F, the width of a map that does not change.
Factors = tuple[Any, Any] | int


def low_rank_maps(x: Any, factors: Sequence[Factors]) -> Any:
    """Compute x A B for each of several maps whose outputs are concatenated; 0 for maps that do not change.

    The products with all A are one matrix product.

    Args:
        x: (N, D).
        factors: of each map.

    Returns:
        (N, sum of F).

    Source: Hu et al. 2021, "LoRA: low-rank adaptation of large language models", eq. 3.
    """
    pairs = [pair for pair in factors if not isinstance(pair, int)]
    narrow = ops.matmul(x, ops.concatenate([first for first, _ in pairs], axis=-1))  # (N, D) -> (N, m r)
    parts = iter(ops.split(narrow, len(pairs), axis=-1))
    rows = ops.shape(x)[0]
    found = [
        ops.zeros((rows, pair), dtype=x.dtype) if isinstance(pair, int) else ops.matmul(next(parts), pair[1])
        for pair in factors
    ]
    return found[0] if len(found) == 1 else ops.concatenate(found, axis=-1)


def low_rank_kernel(factors: Sequence[Factors], rows: int) -> Any:
    """Compute A B for each of several maps, as the columns of one kernel.

    Args:
        factors: of each map.
        rows: D.

    Returns:
        (D, sum of F).
    """
    found = [ops.zeros((rows, pair)) if isinstance(pair, int) else ops.matmul(*pair) for pair in factors]
    return ops.concatenate(found, axis=-1)
