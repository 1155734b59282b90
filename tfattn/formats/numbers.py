"""Parsing of numbers, and the texts that stand for missing ones."""

import re
import string

import numpy as np

MISSING = ("", "?", "NA", "nan")  # texts that stand for no value, by default
# Narrower than what Python or TensorFlow would read: no 0x10, no 1_000, no digits of other scripts, no infinity.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def stripped(text: str) -> str:
    """Remove spaces at both ends, only those of ASCII, as `tf.strings.strip` does."""
    return text.strip(string.whitespace)


def read(text: str) -> float | None:
    """Parse a text as a float32 number; None where it is not a number, or too large for float32."""
    text = stripped(text)
    with np.errstate(over="ignore"):
        value = np.float32(text) if re.fullmatch(NUMBER, text) else np.float32(np.inf)
    return float(value) if np.isfinite(value) else None
