"""The ids of words in the graph, however they are written."""

from collections.abc import Sequence

import tensorflow as tf

from tfattn.preprocessing.code_points import CodePointTable
from tfattn.preprocessing.word_characters import BLANK, ENDS, NOTHING, Rules, pages

UNKNOWN_ID = -1
JOINT = "_"  # between the words of a phrase


class WordLookup(tf.Module):
    """Looks words up, written as they may be: `New York`, `NEW YORK.` and `new_york` are all `new_york`.

    Args:
        words: in the order of their ids.
        rules: by which texts were divided.

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
        """Look up words (B,), UTF-8: (B,) int32, -1 where one is unknown."""
        return self._ids.lookup(self.spelled(words))

    def spelled(self, words: tf.Tensor) -> tf.Tensor:
        """Write words (B,) as the vocabulary does, whether they stand in it or not."""
        characters = tf.strings.unicode_decode(words, "UTF-8", errors="replace", replacement_char=0xFFFD)
        entries = self._characters(characters.values)  # (N, 2)
        becomes = tf.where(entries == ENDS, ord(BLANK), characters.values[:, None] + entries)
        spelled = characters.with_values(tf.RaggedTensor.from_tensor(becomes)).merge_dims(1, 2)
        is_there = tf.reshape(entries != NOTHING, [-1])
        spelled = tf.strings.unicode_encode(tf.ragged.boolean_mask(spelled, spelled.with_values(is_there)), "UTF-8")
        return tf.strings.reduce_join(tf.strings.split(spelled), axis=-1, separator=JOINT)
