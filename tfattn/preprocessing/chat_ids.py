"""Chats as tokens."""

from collections.abc import Iterator, Sequence

import numpy as np

from tfattn.formats.chat_template import Piece
from tfattn.preprocessing.language import Language


def piece_ids(language: Language, chats: Sequence[Sequence[Piece]]) -> Iterator[list[np.ndarray]]:
    """Yield, of each chat, the ids of each of its pieces, (T,) int32; all texts become tokens together.

    Args:
        language: makes tokens of texts, and has the special tokens of the pieces.
        chats: the pieces of each, as `ChatTemplate.pieces` gives them.
    """
    texts = language.ids_of(piece.text for pieces in chats for piece in pieces if not piece.is_special)
    for pieces in chats:
        yield [np.array([language.id_of(one.text)], np.int32) if one.is_special else next(texts) for one in pieces]
