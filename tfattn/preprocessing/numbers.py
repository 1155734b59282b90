"""Parsing of numbers in the graph, with the same rule as in formats/numbers.py."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfattn.formats.numbers import NUMBER


def parse_numbers(texts: tf.Tensor, missing: Sequence[str]) -> tf.Tensor:
    """Parse texts as numbers, in the graph.

    Args:
        texts: strings of any shape.
        missing: the texts that mean a missing value.

    Returns:
        float32 of the same shape: NaN for a missing value, infinity for a text that is not a number.
    """
    texts = tf.strings.strip(texts)
    is_number = tf.strings.regex_full_match(texts, NUMBER)
    values = tf.strings.to_number(tf.where(is_number, texts, "inf"), tf.float32)
    return tf.where(is_in(texts, missing), np.nan, values)


def is_in(texts: tf.Tensor, options: Sequence[str]) -> tf.Tensor:
    """Return which texts, of any shape, are in a list of options: bool of the same shape."""
    return tf.reduce_any(tf.equal(texts[..., None], tf.constant(list(options), tf.string)), axis=-1)
