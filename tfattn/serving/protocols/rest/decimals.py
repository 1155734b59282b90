"""The shortest decimals of float32 numbers.

Written as doubles, 0.1 in float32 would read 0.10000000149011612. The double that is nearest to the shortest decimal
reads 0.1, and is as good: in float32 it is the same number.
"""

import numpy as np

# Significant digits: so many always tell a float32 from its neighbours; what was a decimal once needs fewer.
_MOST_DIGITS, _FEWEST_DIGITS = 9, 6
_EXACT = 22  # 10**22 is the last power of ten that a double holds exactly
_FEW = 48  # numbers, up to which it is faster to look at each


def shortest(numbers: np.ndarray) -> np.ndarray:
    """Find the doubles to write for float32 numbers, those with the fewest digits.

    Args:
        numbers: float32, of any shape.

    Returns:
        float64, the same shape: of the doubles that are the same float32, those with the shortest decimals.

    Example:
        >>> shortest(np.float32([0.1, 3.0])).tolist()
        [0.1, 3.0]
    """
    if numbers.size <= _FEW:
        return _one_by_one(numbers)
    with np.errstate(all="ignore"):
        exact = numbers.astype(np.float64)
        result = exact.copy()  # zeros, infinities and NaN stay as they are
        magnitude = np.floor(np.log10(np.abs(exact)))
        for digits in range(_MOST_DIGITS, _FEWEST_DIGITS - 1, -1):
            places = digits - 1 - magnitude
            rounded = _rounded(exact, places)
            np.copyto(result, rounded, where=rounded.astype(np.float32) == numbers)
    far = np.isfinite(magnitude) & ((magnitude < _MOST_DIGITS - 1 - _EXACT) | (magnitude > _FEWEST_DIGITS - 1 + _EXACT))
    result[far] = _one_by_one(numbers[far])
    return result


def _rounded(numbers: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Round numbers to so many decimal places, as doubles, where the powers of ten are exact."""
    power = 10 ** np.abs(places)
    return np.where(places >= 0, np.rint(numbers * power) / power, np.rint(numbers / power) * power)


def _one_by_one(numbers: np.ndarray) -> np.ndarray:
    return np.array([float(str(number)) for number in numbers.ravel()], np.float64).reshape(numbers.shape)
