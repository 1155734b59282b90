"""Texts of several lines as pieces: split once, however many examples are made of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tfattn.preprocessing.unknown import Unknown
from tfattn.preprocessing.vocabulary import UNKNOWN
from tfattn.preprocessing.wordpiece import WordPiece

LINES_AT_ONCE = 2048  # in the graph, which takes a hundred bytes a character


@dataclass(frozen=True)
class SplitTexts:
    """The pieces of some texts, all of them one after the other.

    Args:
        lines: of all texts.
        texts: (lines,), of which text each is.
        pieces: (N,) int32, the ids of all pieces.
        begins: (lines + 1,), where the pieces of each line begin, and N.
    """

    lines: Sequence[str]
    texts: np.ndarray
    pieces: np.ndarray
    begins: np.ndarray

    @staticmethod
    def of(texts: Sequence[str], preprocessor: WordPiece) -> "SplitTexts":
        """Split texts, each into lines, and these into pieces."""
        lines = [text.split("\n") for text in texts]
        whole = [line for some in lines for line in some]
        parts = [whole[first : first + LINES_AT_ONCE] for first in range(0, len(whole), LINES_AT_ONCE)]
        found = [preprocessor.pieces.ids(tf.constant(part, tf.string)) for part in parts]
        return SplitTexts(
            lines=whole,
            texts=np.repeat(np.arange(len(texts)), [len(some) for some in lines]),
            pieces=np.concatenate([part.values.numpy() for part in found]),
            begins=np.concatenate([[0], np.cumsum(np.concatenate([part.row_lengths().numpy() for part in found]))]),
        )

    def documents(self) -> tuple[np.ndarray, list[list[int]]]:
        """List the lines of each text that has any piece.

        Returns:
            (D,) which texts these are, and of each where its lines begin, those without pieces left out, and where the
            last one ends.
        """
        is_line = np.diff(self.begins) > 0
        texts, first = np.unique(self.texts[is_line], return_index=True)
        begins = np.split(self.begins[:-1][is_line], first[1:])
        ends = self.begins[1:][is_line][np.append(first[1:], is_line.sum()) - 1] if len(texts) else ()
        return texts, [[*some.tolist(), int(end)] for some, end in zip(begins, ends, strict=False)]

    def unknown(self, preprocessor: WordPiece) -> dict[str, Unknown]:
        """Count the pieces, and the words that are unknown."""
        (field,) = preprocessor.fields
        unknown = np.flatnonzero(self.pieces == preprocessor.pieces.vocabulary.id(UNKNOWN))
        indices = np.unique(np.searchsorted(self.begins, unknown, side="right") - 1)
        words = ()
        if len(indices):
            words = preprocessor.pieces.unknown(tf.constant([self.lines[index] for index in indices]))[1].numpy()
        return {field: Unknown.of(len(self.pieces), words)}
