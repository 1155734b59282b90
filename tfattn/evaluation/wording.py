"""The wording of metrics: per cents, intervals whose ends differ, counts in singular and plural."""

import math
from collections.abc import Sequence
from decimal import Decimal

MAX_DECIMALS = 12


def percent(fraction: float) -> str:
    """Write a fraction in per cent. Less than 1 is never shown as 100 %, and more than 0 never as 0 %.

    Example:
        >>> percent(0.958), percent(0.99987), percent(1.0)
        ('95.8%', '99.99%', '100.0%')
    """
    decimals = 1
    while fraction not in (0, 1) and decimals < MAX_DECIMALS and round(fraction, decimals + 2) in (0, 1):
        decimals += 1
    return f"{round(fraction, decimals + 2) + 0.0:.{decimals}%}"


def number(value: float) -> str:
    """Write a number with four significant digits, never as a power of ten, and never -0.

    Example:
        >>> number(0.00002), number(-0.0), number(31.4159)
        ('0.00002', '0', '31.42')
    """
    if not math.isfinite(value):
        return str(value)
    plain = f"{Decimal(f'{value:.4g}'):f}"
    return (plain.rstrip("0").rstrip(".") if "." in plain else plain) if float(plain) else "0"


def between(low: float, high: float, *, decimals: int = 4, word: str = "to") -> str:
    """Write both ends of an interval, with at least so many decimals, more where the ends would look the same.

    Example:
        >>> between(0.00027, 0.00034), between(0.0, 0.0)
        ('0.000270 to 0.000340', 'always 0')
    """
    if low == high:
        return f"always {number(low)}"
    decimals = needed(low, high, decimals=decimals)
    return f"{fixed(low, decimals)} {word} {fixed(high, decimals)}"


def percents(low: float, high: float, *, word: str = "to") -> str:
    """Write both ends of an interval of fractions, in per cent."""
    decimals = needed(low, high, decimals=3) - 2
    return f"{low:.{decimals}%} {word} {high:.{decimals}%}"


def needed(low: float, high: float, *, decimals: int) -> int:
    """Return the number of decimals that shows the width of an interval in two digits, at least `decimals`."""
    if low == high:
        return decimals
    return min(MAX_DECIMALS, max(decimals, 1 + math.ceil(-math.log10(abs(high - low)))))


def fixed(value: float, decimals: int) -> str:
    """Write a number with so many decimals, never -0."""
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def count(number: int, unit: str) -> str:
    """Write a number of things, whose plural ends in s.

    Example:
        >>> count(1, "text"), count(1234, "text")
        ('1 text', '1,234 texts')
    """
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def listed(names: Sequence[str], *, most: int = 5, word: str = "and") -> str:
    """Write quoted names in a sentence; of many, the first.

    Example:
        >>> listed(["Leak", "Noise"]), listed(["a", "b", "c"], most=2)
        ('“Leak” and “Noise”', '“a”, “b” and 1 more')
    """
    quoted = [f"“{name}”" for name in names[:most]]
    if len(names) > most:
        return f"{', '.join(quoted)} {word} {len(names) - most:,} more"
    return f" {word} ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def shown_of(shown: int, mistakes: int) -> str:
    """Write how many of all mistakes are shown.

    Example:
        >>> shown_of(1, 1), shown_of(7, 7), shown_of(20, 1234)
        ('The only mistake', 'All 7 mistakes', '20 of the 1,234 mistakes')
    """
    if shown < mistakes:
        return f"{shown:,} of the {mistakes:,} mistakes"
    return "The only mistake" if mistakes == 1 else f"All {mistakes:,} mistakes"
