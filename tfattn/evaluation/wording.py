"""Formatting of metrics: percentages, intervals, counts in singular and plural."""

import math
from collections.abc import Sequence
from decimal import Decimal

MAX_DECIMALS = 12


def percent(fraction: float) -> str:
    """Format a fraction as a percentage. Only 1 is formatted as 100 %, and only 0 as 0 %.

    Example:
        >>> percent(0.958), percent(0.99987), percent(1.0)
        ('95.8%', '99.99%', '100.0%')
    """
    decimals = 1
    while fraction not in (0, 1) and decimals < MAX_DECIMALS and round(fraction, decimals + 2) in (0, 1):
        decimals += 1
    return f"{round(fraction, decimals + 2) + 0.0:.{decimals}%}"


def number(value: float) -> str:
    """Format a number with four significant digits, without powers of ten and -0.

    Example:
        >>> number(0.00002), number(-0.0), number(31.4159)
        ('0.00002', '0', '31.42')
    """
    if not math.isfinite(value):
        return str(value)
    plain = f"{Decimal(f'{value:.4g}'):f}"
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain) if float(plain) else "0"


def between(low: float, high: float, *, decimals: int = 4, word: str = "to") -> str:
    """Format an interval with at least `decimals` decimals, and enough to distinguish its ends.

    Example:
        >>> between(0.00027, 0.00034), between(0.0, 0.0)
        ('0.000270 to 0.000340', 'always 0')
    """
    if low == high:
        return f"always {number(low)}"
    decimals = decimals_needed(low, high, decimals=decimals)
    return f"{fixed(low, decimals)} {word} {fixed(high, decimals)}"


def percents(low: float, high: float, *, word: str = "to") -> str:
    """Format an interval of fractions as percentages."""
    decimals = decimals_needed(low, high, decimals=3) - 2
    return f"{low:.{decimals}%} {word} {high:.{decimals}%}"


def decimals_needed(low: float, high: float, *, decimals: int) -> int:
    """Return the number of decimals that shows the width of an interval in two digits, at least `decimals`."""
    if low == high:
        return decimals
    return min(MAX_DECIMALS, max(decimals, 1 + math.ceil(-math.log10(abs(high - low)))))


def fixed(value: float, decimals: int) -> str:
    """Format a number with a fixed number of decimals, without -0."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def count(number: int, unit: str) -> str:
    """Format a count with its unit; the plural ends in s.

    Example:
        >>> count(1, "text"), count(1234, "text")
        ('1 text', '1,234 texts')
    """
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def quoted_list(names: Sequence[str], *, most: int = 5, word: str = "and") -> str:
    """Join quoted names for a sentence; long lists are shortened.

    Example:
        >>> quoted_list(["Leak", "Noise"]), quoted_list(["a", "b", "c"], most=2)
        ('“Leak” and “Noise”', '“a”, “b” and 1 more')
    """
    quoted = [f"“{name}”" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(quoted)} {word} {len(names) - most:,} more"
    return f" {word} ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def shown_count(shown: int, errors: int) -> str:
    """Format the number of shown errors.

    Example:
        >>> shown_count(1, 1), shown_count(7, 7), shown_count(20, 1234)
        ('The only error', 'All 7 errors', '20 of the 1,234 errors')
    """
    if shown < errors:
        return f"{shown:,} of the {errors:,} errors"
    return "The only error" if errors == 1 else f"All {errors:,} errors"
