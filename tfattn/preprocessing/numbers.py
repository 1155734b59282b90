"""Text as numbers in the graph, which takes for one what Python does (formats/numbers.py)."""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfattn.formats.numbers import NUMBER


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
