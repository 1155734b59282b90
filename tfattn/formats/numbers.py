"""Text as numbers: what counts as one."""

import re
import string

import numpy as np

MISSING = ("", "?", "NA", "nan")  # texts that say that there is no value, if not told otherwise
# Narrower than what Python or TensorFlow would read: no 0x10, no 1_000, no digits of other scripts, no infinity.
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"


def stripped(text: str) -> str:
    """The text without spaces at its ends, as `tf.strings.strip` takes them away: those of ASCII only."""
    return text.strip(string.whitespace)


def read(text: str) -> float | None:
    """The float32 number that a text is; None where it is none, or none that float32 can hold."""
    text = stripped(text)
    with np.errstate(over="ignore"):
        value = np.float32(text) if re.fullmatch(NUMBER, text) else np.float32(np.inf)
    return float(value) if np.isfinite(value) else None
