"""Intervals: of fractions that were counted, and of differences of runs."""

from collections.abc import Sequence

# The 97.5 % point of the normal distribution: an interval of this many standard deviations each way holds 95 %.
NORMAL_95 = 1.959964


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Compute the 95 % interval of a fraction, fit for few trials and near 0 or 1; 0 to 1 where nothing was counted.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if trials == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest  # half a second, for commands that measure nothing

    low, high = binomtest(successes, trials).proportion_ci(confidence_level=0.95, method="wilson")
    return float(low), float(high)


def paired(one: Sequence[float], other: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Return the mean of differences of runs that were measured in pairs, and its 95 % interval, None of a single pair.

    Args:
        one: what was measured, such as with several seeds.
        other: as many, each beside its pair.

    Example:
        >>> [round(value, 4) for value in paired([0.9, 0.8, 0.85], [0.7, 0.7, 0.7])]
        [0.15, 0.0258, 0.2742]
    """
    differences = [left - right for left, right in zip(one, other, strict=True)]
    mean = sum(differences) / len(differences)
    if len(differences) == 1:
        return mean, None, None
    from scipy import stats

    half = float(stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences))
    return mean, mean - half, mean + half


def counted_fraction(name: str, successes: int, trials: int) -> dict[str, float]:
    """Name a fraction with its interval: `name`, `name_low` and `name_high`; 0 where nothing was counted."""
    low, high = wilson(successes, trials)
    return {name: successes / trials if trials else 0.0, f"{name}_low": low, f"{name}_high": high}
