"""Confidence intervals of fractions and of paired differences."""

from collections.abc import Sequence

# The 97.5 % quantile of the normal distribution: this many standard deviations each way are a 95 % interval.
NORMAL_95 = 1.959964


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """Compute the 95 % interval of a fraction, also for few trials and near 0 or 1; 0 to 1 without trials.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if trials == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest  # slow to import, and not needed by most commands

    low, high = binomtest(successes, trials).proportion_ci(confidence_level=0.95, method="wilson")
    return float(low), float(high)


def paired(left: Sequence[float], right: Sequence[float]) -> tuple[float, float | None, float | None]:
    """Compute the mean of paired differences and its 95 % interval, None for a single pair.

    Args:
        left: measurements, such as of several seeds.
        right: the measurements to subtract, in the same order.

    Example:
        >>> [round(value, 4) for value in paired([0.9, 0.8, 0.85], [0.7, 0.7, 0.7])]
        [0.15, 0.0258, 0.2742]
    """
    differences = [a - b for a, b in zip(left, right, strict=True)]
    mean = sum(differences) / len(differences)
    if len(differences) == 1:
        return mean, None, None
    from scipy import stats

    half = float(stats.t.ppf(0.975, len(differences) - 1) * stats.sem(differences))
    return mean, mean - half, mean + half


def counted_fraction(name: str, successes: int, trials: int) -> dict[str, float]:
    """Return a fraction and its 95 % interval, `name`, `name_low` and `name_high`; the fraction is 0 without trials."""
    low, high = wilson(successes, trials)
    return {name: successes / trials if trials else 0.0, f"{name}_low": low, f"{name}_high": high}
