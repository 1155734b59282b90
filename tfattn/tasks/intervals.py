"""How far a share that was counted can be trusted."""

import math

# The 97.5 % point of the normal distribution: an interval of this many standard deviations each way holds 95 %.
NORMAL_95 = 1.959964


def wilson(successes: int, trials: int) -> tuple[float, float]:
    """The 95 % interval of a share, fit for few trials and for shares near 0 or 1.

    Source: Wilson 1927, "Probable inference, the law of succession, and statistical inference".
    """
    if trials == 0:
        return 0.0, 1.0
    share, spread = successes / trials, NORMAL_95**2 / trials
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    # At the ends exactly, where rounding would leave a little.
    return (max(0.0, middle - half) if successes else 0.0), (min(1.0, middle + half) if successes < trials else 1.0)


def counted_share(name: str, successes: int, trials: int) -> dict[str, float]:
    """A share with its interval by flat names: `name`, `name_low` and `name_high`; 0 where nothing was counted."""
    low, high = wilson(successes, trials)
    return {name: successes / trials if trials else 0.0, f"{name}_low": low, f"{name}_high": high}
