"""Intervals of fractions that were counted."""

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


def counted_fraction(name: str, successes: int, trials: int) -> dict[str, float]:
    """Name a fraction with its interval: `name`, `name_low` and `name_high`; 0 where nothing was counted."""
    low, high = wilson(successes, trials)
    return {name: successes / trials if trials else 0.0, f"{name}_low": low, f"{name}_high": high}
