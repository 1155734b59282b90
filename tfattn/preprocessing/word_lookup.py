"""Lookup of word ids in the graph, independent of case and separators."""

from collections.abc import Sequence

import tensorflow as tf

from tfattn.preprocessing.code_points import CodePointTable
from tfattn.preprocessing.word_characters import BLANK, PADDING, WORD_BREAK, Rules, pages

UNKNOWN_ID = -1
PHRASE_SEPARATOR = "_"  # between the words of a phrase, as in new_york


class WordLookup(tf.Module):
    """Lookup table of words after normalization: `New York`, `NEW YORK.` and `new_york` are all `new_york`.

    Args:
        words: the words in the order of their ids.
        rules: the character rules of the segmentation.

    Example:
        lookup = WordLookup(["new_york", "is"], Rules(only_letters=True, lower_case=True, ascii=False))
        lookup(tf.constant(["New York", "was"]))  # [0, -1]
    """

    def __init__(self, words: Sequence[str], rules: Rules):
        super().__init__()
        self._characters = CodePointTable(pages(rules))
        ids = tf.range(len(words), dtype=tf.int32)
        self._ids = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(tf.constant(words, tf.string), ids), UNKNOWN_ID
        )

    def __call__(self, words: tf.Tensor) -> tf.Tensor:
        """Look up words (B,), UTF-8: (B,) int32, -1 for unknown words."""
        return self._ids.lookup(self.normalize(words))

    def normalize(self, words: tf.Tensor) -> tf.Tensor:
        """Normalize words (B,) to the form of the vocabulary, known or unknown."""
        characters = tf.strings.unicode_decode(words, "UTF-8", errors="replace", replacement_char=0xFFFD)
        entries = self._characters(characters.values)  # (N, 2)
        replacements = tf.where(entries == WORD_BREAK, ord(BLANK), characters.values[:, None] + entries)
        normalized = characters.with_values(tf.RaggedTensor.from_tensor(replacements)).merge_dims(1, 2)
        is_kept = tf.reshape(entries != PADDING, [-1])
        normalized = tf.strings.unicode_encode(
            tf.ragged.boolean_mask(normalized, normalized.with_values(is_kept)), "UTF-8"
        )
        return tf.strings.reduce_join(tf.strings.split(normalized), axis=-1, separator=PHRASE_SEPARATOR)
