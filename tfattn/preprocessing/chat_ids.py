"""Tokenization of chats."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfattn.formats.chat_template import ChatTemplate, Piece
from tfattn.preprocessing.language import Language

_BOUND = b"\xff"  # no text in UTF-8 has this byte


def piece_ids(language: Language, chats: Sequence[Sequence[Piece]]) -> Iterator[list[np.ndarray]]:
    """Yield the ids of the pieces of each chat, (T,) int32 each; all texts are tokenized together.

    Args:
        language: the tokenizer, which has the special tokens of the pieces.
        chats: the pieces of each chat, from `ChatTemplate.pieces`.
    """
    texts = language.ids_of(piece.text for pieces in chats for piece in pieces if not piece.is_special)
    for pieces in chats:
        yield [np.array([language.id_of(p.text)], np.int32) if p.is_special else next(texts) for p in pieces]


def special_token_ids(language: Language, template: ChatTemplate) -> dict[str, int]:
    """Return the ids of a template's special tokens by name; empty if the tokenizer lacks any of them."""
    ids = {name: language.id_of(name) for name in template.special_tokens}
    return {} if None in ids.values() else ids


def rendered_chat_ids(language: Language, texts: tf.Tensor) -> tf.RaggedTensor:
    """Return the ids of texts (B,) that are rendered chats: ragged (B, (T)) int32; works in a graph.

    Use it to show chats, not to answer them: a user's message could contain the name of a special token.

    Args:
        language: the tokenizer; without the special tokens of chats, everything is text.
        texts: UTF-8.
    """
    special = special_token_ids(language, ChatTemplate())
    if not special:
        return language.split(texts)
    names = "|".join(map(re.escape, special))
    pieces = tf.strings.split(tf.strings.regex_replace(texts, f"({names})", _BOUND + rb"\1" + _BOUND), _BOUND)
    is_special = pieces.values[:, None] == tf.constant([*special])
    special_ids = tf.boolean_mask(tf.broadcast_to([*special.values()], tf.shape(is_special)), is_special)
    is_marker = tf.reduce_any(is_special, axis=1)
    markers = tf.RaggedTensor.from_row_lengths(special_ids, tf.cast(is_marker, tf.int64), validate=False)
    ids = tf.concat([markers, language.split(tf.where(is_marker, "", pieces.values))], axis=1)
    splits = tf.gather(ids.row_splits, pieces.row_splits)
    return tf.RaggedTensor.from_row_splits(ids.values, splits, validate=False)
