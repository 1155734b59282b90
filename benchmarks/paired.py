"""Paired differences of runs, such as on the same split or with the same seed."""

from collections.abc import Sequence

from tfattn.tasks.intervals import paired


def paired_difference(first: Sequence[float], second: Sequence[float]) -> str:
    """Format the mean difference of two paired series, with its 95 % interval.

    Args:
        first: values; a single value has no interval.
        second: the paired values.

    Example:
        >>> paired_difference([0.9, 0.8, 0.85], [0.7, 0.7, 0.7])
        '+0.1500 (+0.0258 to +0.2742)'
    """
    mean, low, high = paired(first, second)
    return f"{mean:+.4f}" if low is None else f"{mean:+.4f} ({low:+.4f} to {high:+.4f})"
