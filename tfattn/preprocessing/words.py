"""Splitting of texts into normalized words, in the graph."""

from typing import NamedTuple

import tensorflow as tf

from tfattn.preprocessing.characters import ALONE, SPACE, Characters


class Words(NamedTuple):
    """The words of a batch of texts, concatenated.

    Attributes:
        characters: ragged (words, (characters)) int32, the normalized code points.
        sources: (characters of all words,) int64, the index of the original character of each, counted over all
            texts of the batch.
        row_splits: (B + 1,) int64, the row splits of words by text.
        text_starts: (B,) int64, the index of each text's first character, as in `sources`.
    """

    characters: tf.RaggedTensor
    sources: tf.Tensor
    row_splits: tf.Tensor
    text_starts: tf.Tensor


def split(texts: tf.Tensor, characters: Characters) -> Words:
    """Split texts (B,) of UTF-8 into words; invalid UTF-8 is read as U+FFFD."""
    texts = tf.strings.unicode_decode(texts, "UTF-8", errors="replace", replacement_char=0xFFFD)
    kinds, code_points = characters(texts.values)  # (N, W)

    # Number the words: a new word starts after a blank, before and after a single-character word, and with each text.
    is_alone = tf.cast(kinds[:, 0] == ALONE, tf.int32)
    starts = 2 * is_alone + tf.cast(kinds[:, 0] == SPACE, tf.int32)
    text_starts = texts.row_starts()
    starts = tf.tensor_scatter_nd_add(  # an empty text at the end starts after the last character
        tf.pad(starts, [[0, 1]]), text_starts[:, None], tf.ones_like(text_starts, tf.int32)
    )[:-1]
    numbers = tf.cumsum(starts) - is_alone

    # Keep the characters of words; a word starts where the number changes.
    kept = tf.where(kinds < SPACE)
    sources = kept[:, 0]
    numbers = tf.gather(numbers, sources)
    is_first = tf.concat([tf.ones_like(numbers[:1], tf.bool), numbers[1:] != numbers[:-1]], 0)
    word_starts = tf.where(is_first)[:, 0]
    return Words(
        characters=tf.RaggedTensor.from_row_starts(tf.gather_nd(code_points, kept), word_starts, validate=False),
        sources=sources,
        row_splits=tf.searchsorted(tf.gather(sources, word_starts), texts.row_splits, out_type=tf.int64),
        text_starts=text_starts,
    )


def word_spans(words: Words) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Return number, start and end of each word in its text: three tensors (words,) int32.

    Numbers count from 1; start and end are code points, the end excluded.
    """
    first, last = words.characters.row_starts(), words.characters.row_limits() - 1
    words_of_text = words.row_splits[1:] - words.row_splits[:-1]
    text_starts = tf.repeat(words.text_starts, words_of_text)
    numbers = tf.ragged.range(words_of_text).values + 1
    starts, ends = tf.gather(words.sources, first) - text_starts, tf.gather(words.sources, last) + 1 - text_starts
    return tuple(tf.cast(values, tf.int32) for values in (numbers, starts, ends))
