"""Differences of runs that were measured in pairs, such as on the same split or from the same seed."""

from collections.abc import Sequence

from tfattn.tasks.intervals import paired


def ahead(one: Sequence[float], other: Sequence[float]) -> str:
    """Say by how much one is higher than the other in the mean, with the 95 % interval of that.

    Args:
        one: what was measured; a single value has no interval.
        other: as many, each beside its pair.

    Example:
        >>> ahead([0.9, 0.8, 0.85], [0.7, 0.7, 0.7])
        '+0.1500 (+0.0258 to +0.2742)'
    """
    mean, low, high = paired(one, other)
    return f"{mean:+.4f}" if low is None else f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
