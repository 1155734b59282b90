"""Text as numbers: what counts as one, in Python and in the graph alike."""

import re
import string
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

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


def read_in_graph(texts: tf.Tensor, missing: Sequence[str]) -> tf.Tensor:
    """The numbers that texts are, in the graph.

    Args:
        texts: strings of any shape.
        missing: the texts that say that there is no number.

    Returns:
        float32 of that shape: NaN where it is missing, infinity where it is no number.
    """
    texts = tf.strings.strip(texts)
    is_number = tf.strings.regex_full_match(texts, NUMBER)
    values = tf.strings.to_number(tf.where(is_number, texts, "inf"), tf.float32)
    return tf.where(one_of(texts, missing), np.nan, values)


def one_of(texts: tf.Tensor, options: Sequence[str]) -> tf.Tensor:
    """Whether a text is one of some others: bool of its shape."""
    return tf.reduce_any(tf.equal(texts[..., None], tf.constant(list(options), tf.string)), axis=-1)
