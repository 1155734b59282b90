"""Tokenization of chats."""

from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from tfattn.formats.chat_template import ChatTemplate, Piece
from tfattn.preprocessing.language import Language
from tfattn.preprocessing.text_tokens import TextTokens


def piece_ids(language: Language, chats: Sequence[Sequence[Piece]]) -> Iterator[list[np.ndarray]]:
    """Yield the ids of the pieces of each chat, (T,) int32 each; all texts are tokenized together.

    Args:
        language: the tokenizer, which has the special tokens of the pieces.
        chats: the pieces of each chat, from `ChatTemplate.pieces`.
    """
    texts = language.encode(piece.text for pieces in chats for piece in pieces if not piece.is_special)
    for pieces in chats:
        yield [np.array([language.special_token_id(p.text)], np.int32) if p.is_special else next(texts) for p in pieces]


def special_token_ids(language: Language, template: ChatTemplate) -> dict[str, int]:
    """Return the ids of a template's special tokens by name; empty if the tokenizer lacks any of them."""
    ids = {name: language.special_token_id(name) for name in template.special_tokens}
    return {} if None in ids.values() else ids


def rendered_chat_ids(language: Language, texts: tf.Tensor) -> tf.RaggedTensor:
    """Return the ids of texts (B,) that are rendered chats: ragged (B, (T)) int32; works in a graph.

    Use it to show chats, not to answer them: a user's message could contain the name of a special token.

    Args:
        language: the tokenizer; without a chat template, everything is text.
        texts: UTF-8.
    """
    template = language.chat_template()
    if template is None:
        return language.split(texts)
    return TextTokens(special_token_ids(language, template))(texts, language.split)
