"""Parsing of numbers in the graph, by the same rule as in Python (formats/numbers.py)."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfattn.formats.numbers import NUMBER


def read_in_graph(texts: tf.Tensor, missing: Sequence[str]) -> tf.Tensor:
    """Parse texts as numbers, in the graph.

    Args:
        texts: strings of any shape.
        missing: the texts that stand for no value.

    Returns:
        float32 of that shape: NaN where the value is missing, infinity where a text is not a number.
    """
    texts = tf.strings.strip(texts)
    is_number = tf.strings.regex_full_match(texts, NUMBER)
    values = tf.strings.to_number(tf.where(is_number, texts, "inf"), tf.float32)
    return tf.where(one_of(texts, missing), np.nan, values)


def one_of(texts: tf.Tensor, options: Sequence[str]) -> tf.Tensor:
    """Compare texts of any shape with some options: bool of that shape, True where a text is one of them."""
    return tf.reduce_any(tf.equal(texts[..., None], tf.constant(list(options), tf.string)), axis=-1)
