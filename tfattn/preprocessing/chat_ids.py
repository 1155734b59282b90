"""Chats as tokens."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfattn.formats.chat_template import ChatTemplate, Piece
from tfattn.preprocessing.language import Language

_BOUND = b"\xff"  # no text in UTF-8 has this byte


def piece_ids(language: Language, chats: Sequence[Sequence[Piece]]) -> Iterator[list[np.ndarray]]:
    """Yield, of each chat, the ids of each of its pieces, (T,) int32; all texts become tokens together.

    Args:
        language: makes tokens of texts, and has the special tokens of the pieces.
        chats: the pieces of each, as `ChatTemplate.pieces` gives them.
    """
    texts = language.ids_of(piece.text for pieces in chats for piece in pieces if not piece.is_special)
    for pieces in chats:
        yield [np.array([language.id_of(one.text)], np.int32) if one.is_special else next(texts) for one in pieces]


def special_of(language: Language, template: ChatTemplate) -> dict[str, int]:
    """Return the ids of a template's special tokens by their names; none where the language has not all of them."""
    ids = {name: language.id_of(name) for name in template.special_tokens}
    return {} if None in ids.values() else ids


def ids_of_written(language: Language, texts: tf.Tensor) -> tf.RaggedTensor:
    """Return the ids of texts (B,) in which chats are written out: ragged (B, (T)) int32; works in a graph.

    For showing chats, not for answering them: what people say could have the name of a special token in it.

    Args:
        language: makes tokens of texts; where it has no special tokens of chats, all is text.
        texts: UTF-8.
    """
    special = special_of(language, ChatTemplate())
    if not special:
        return language.split(texts)
    names = "|".join(map(re.escape, special))
    pieces = tf.strings.split(tf.strings.regex_replace(texts, f"({names})", _BOUND + rb"\1" + _BOUND), _BOUND)
    is_special = pieces.values[:, None] == tf.constant([*special])
    told = tf.boolean_mask(tf.broadcast_to([*special.values()], tf.shape(is_special)), is_special)
    is_one = tf.reduce_any(is_special, axis=1)
    ones = tf.RaggedTensor.from_row_lengths(told, tf.cast(is_one, tf.int64), validate=False)
    ids = tf.concat([ones, language.split(tf.where(is_one, "", pieces.values))], axis=1)
    splits = tf.gather(ids.row_splits, pieces.row_splits)
    return tf.RaggedTensor.from_row_splits(ids.values, splits, validate=False)
