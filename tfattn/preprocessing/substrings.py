"""Parts of texts by the places of their characters, in the graph."""

import tensorflow as tf


def substrings(texts: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor) -> tf.RaggedTensor:
    """Cut parts out of texts.

    Args:
        texts: (B,) UTF-8; each byte sequence that is not counts as the one character U+FFFD, as in `words.split`.
        starts, ends: ragged (B, (N)) int, from which character each part reaches, and the one behind its last.

    Returns:
        ragged (B, (N)) strings.
    """
    characters = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
    before = tf.gather(characters.row_starts(), starts.value_rowids())
    places = tf.ragged.range(before + tf.cast(starts.values, tf.int64), before + tf.cast(ends.values, tf.int64))
    parts = places.with_values(tf.gather(characters.values, places.values))
    return starts.with_values(tf.strings.unicode_encode(parts, "UTF-8"))
