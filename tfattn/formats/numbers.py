"""Parsing of numbers, and markers of missing numbers."""

import re
import string

import numpy as np

MISSING = ("", "?", "NA", "nan")  # default markers of a missing value
# Stricter than Python and TensorFlow: no 0x10, no 1_000, no digits of other scripts, no infinity.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def stripped(text: str) -> str:
    """Strip ASCII white space, like `tf.strings.strip`."""
    return text.strip(string.whitespace)


def describe_expected(text: str) -> str:
    """Describe what `read` expects instead of a text: a number, with its range if the text is out of range."""
    return "a number from -3.4e38 to 3.4e38 (float32)" if re.fullmatch(NUMBER, stripped(text)) else "a number"


def read(text: str) -> float | None:
    """Parse a text as a float32 number; None if it is not a number or overflows float32."""
    text = stripped(text)
    with np.errstate(over="ignore"):
        value = np.float32(text) if re.fullmatch(NUMBER, text) else np.float32(np.inf)
    return float(value) if np.isfinite(value) else None
