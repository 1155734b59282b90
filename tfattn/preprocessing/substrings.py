"""Substrings of texts by character positions, in the graph."""

import tensorflow as tf


def substrings(texts: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor) -> tf.RaggedTensor:
    """Return substrings of texts.

    Args:
        texts: (B,) UTF-8; invalid UTF-8 is read as U+FFFD, as in `words.split`.
        starts, ends: ragged (B, (N)) int, the first character of each substring, and the end, excluded.

    Returns:
        ragged (B, (N)) strings.
    """
    characters = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
    before = tf.gather(characters.row_starts(), starts.value_rowids())
    indices = tf.ragged.range(before + tf.cast(starts.values, tf.int64), before + tf.cast(ends.values, tf.int64))
    parts = indices.with_values(tf.gather(characters.values, indices.values))
    return starts.with_values(tf.strings.unicode_encode(parts, "UTF-8"))
