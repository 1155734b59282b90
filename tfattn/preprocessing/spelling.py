"""Character ids of words in the graph: the bytes of each word between start and end marks.

Ids are those of the published ELMo: bytes from 1, then the marks of sentences and words, and the padding after a word.
0 pads sequences.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

MAX_WORD_LENGTH = 50  # the ids of a word, with its start and end
SENTENCE_START, SENTENCE_END, WORD_START, WORD_END, WORD_PADDING = range(257, 262)
START, END, UNKNOWN = "<S>", "</S>", "<UNK>"


def spell(words: tf.Tensor) -> tf.Tensor:
    """Convert words to character ids: (N,) UTF-8 -> (N, 50) int32; words are cut after 48 bytes.

    Source: Peters et al. 2018, "Deep contextualized word representations", section 3.3, and the published vocabulary.
    """
    room = MAX_WORD_LENGTH - 2
    characters = tf.cast(tf.io.decode_raw(words, tf.uint8, fixed_length=room), tf.int32) + 1
    lengths = tf.minimum(tf.strings.length(words), room)[:, None]
    positions = tf.range(MAX_WORD_LENGTH - 1)[None]
    characters = tf.pad(characters, [[0, 0], [0, 1]])
    padded = tf.where(positions == lengths, WORD_END, tf.where(positions < lengths, characters, WORD_PADDING))
    return tf.pad(padded, [[0, 0], [1, 0]], constant_values=WORD_START)


def spell_boundaries() -> list[list[int]]:
    """Return the character ids of the start and the end of a sentence, which are words of a single mark."""
    padding = [WORD_PADDING] * (MAX_WORD_LENGTH - 3)
    return [[WORD_START, mark, WORD_END, *padding] for mark in (SENTENCE_START, SENTENCE_END)]


def spell_eagerly(words: Sequence[str]) -> np.ndarray:
    """Convert words to character ids as `spell` does, in NumPy: (N, 50) int32."""
    found = np.full((len(words), MAX_WORD_LENGTH), WORD_PADDING, np.int32)
    found[:, 0] = WORD_START
    for row, word in zip(found, words, strict=True):
        characters = np.frombuffer(word.encode()[: MAX_WORD_LENGTH - 2], np.uint8)
        row[1 : len(characters) + 1] = characters.astype(np.int32) + 1
        row[len(characters) + 1] = WORD_END
    return found
