"""How words are spelled: the bytes of their characters between two marks, in the graph.

Numbers are those of the published ELMo: bytes from 1, then the marks of sentences and words, and what stands behind a
word. 0 stands for nothing, as in padding.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

LONGEST = 50  # numbers of a word, its two marks included
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, BEHIND = range(257, 262)
START, END, UNKNOWN = "<S>", "</S>", "<UNK>"


def spelled(words: tf.Tensor) -> tf.Tensor:
    """Spell words: (N,) UTF-8 -> (N, 50) int32; of a longer one than 48 bytes the first 48.

    Source: Peters et al. 2018, "Deep contextualized word representations", section 3.3, and the published vocabulary.
    """
    room = LONGEST - 2
    characters = tf.cast(tf.io.decode_raw(words, tf.uint8, fixed_length=room), tf.int32) + 1
    lengths = tf.minimum(tf.strings.length(words), room)[:, None]
    places = tf.range(LONGEST - 1)[None]
    characters = tf.pad(characters, [[0, 0], [0, 1]])
    behind = tf.where(places == lengths, END_WORD, tf.where(places < lengths, characters, BEHIND))
    return tf.pad(behind, [[0, 0], [1, 0]], constant_values=BEGIN_WORD)


def marks() -> list[list[int]]:
    """Spell the begin and the end of a sentence, which are words of one character that no text has."""
    behind = [BEHIND] * (LONGEST - 3)
    return [[BEGIN_WORD, mark, END_WORD, *behind] for mark in (BEGIN_SENTENCE, END_SENTENCE)]


def table(words: Sequence[str]) -> np.ndarray:
    """Spell words as `spelled` does, not in a graph: (N, 50) int32."""
    found = np.full((len(words), LONGEST), BEHIND, np.int32)
    found[:, 0] = BEGIN_WORD
    for row, word in zip(found, words, strict=True):
        characters = np.frombuffer(word.encode()[: LONGEST - 2], np.uint8)
        row[1 : len(characters) + 1] = characters.astype(np.int32) + 1
        row[len(characters) + 1] = END_WORD
    return found
