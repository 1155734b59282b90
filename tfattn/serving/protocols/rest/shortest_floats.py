"""The shortest decimal representations of float32 numbers.

JSON encoders write doubles, so 0.1 in float32 would become 0.10000000149011612. The double 0.1 is the same number in
float32 and is written with one digit.
"""

import numpy as np

# Significant digits: 9 digits identify any float32, and decimals of up to 6 digits survive the conversion.
_MAX_DIGITS, _MIN_DIGITS = 9, 6
_MAX_EXACT_POWER = 22  # 10**22 is the largest power of ten that is exact in a double
_SMALL_SIZE = 48  # up to this size converting each number is faster


def shortest_floats(numbers: np.ndarray) -> np.ndarray:
    """Convert float32 numbers to the doubles with the fewest decimal digits.

    Args:
        numbers: a float32 array of any shape.

    Returns:
        A float64 array of the same shape that equals `numbers` in float32.

    Example:
        >>> shortest_floats(np.float32([0.1, 3.0])).tolist()
        [0.1, 3.0]
    """
    if numbers.size <= _SMALL_SIZE:
        return _one_by_one(numbers)
    with np.errstate(all="ignore"):
        exact = numbers.astype(np.float64)
        result = exact.copy()  # zeros, infinities and NaN do not change
        magnitude = np.floor(np.log10(np.abs(exact)))
        for digits in range(_MAX_DIGITS, _MIN_DIGITS - 1, -1):
            decimals = digits - 1 - magnitude
            rounded = _round(exact, decimals)
            np.copyto(result, rounded, where=rounded.astype(np.float32) == numbers)
    far = np.isfinite(magnitude) & (
        (magnitude < _MAX_DIGITS - 1 - _MAX_EXACT_POWER) | (magnitude > _MIN_DIGITS - 1 + _MAX_EXACT_POWER)
    )
    result[far] = _one_by_one(numbers[far])
    return result


def _round(numbers: np.ndarray, decimals: np.ndarray) -> np.ndarray:
    """Round doubles to the given numbers of decimals; exact where the powers of ten are exact."""
    power = 10 ** np.abs(decimals)
    return np.where(decimals >= 0, np.rint(numbers * power) / power, np.rint(numbers / power) * power)


def _one_by_one(numbers: np.ndarray) -> np.ndarray:
    return np.array([float(str(number)) for number in numbers.ravel()], np.float64).reshape(numbers.shape)
