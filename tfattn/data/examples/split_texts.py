"""Tokenized texts of several lines, shared by all examples of the texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from tfattn.preprocessing.encoder_tokens import EncoderTokens
from tfattn.preprocessing.unknown import Unknown

MAX_BATCH_LINES = 2048  # the graph needs a hundred bytes per character


@dataclass(frozen=True)
class SplitTexts:
    """The concatenated pieces of texts.

    Args:
        lines: the lines of all texts.
        texts: (lines,), index of the text of each line.
        pieces: (N,) int32, the ids of all pieces.
        starts: (lines + 1,), index of the first piece of each line, and N.
    """

    lines: Sequence[str]
    texts: np.ndarray
    pieces: np.ndarray
    starts: np.ndarray

    @staticmethod
    def of(texts: Sequence[str], preprocessor: EncoderTokens) -> "SplitTexts":
        """Split texts into lines, and lines into pieces."""
        lines = [text.split("\n") for text in texts]
        whole = [line for some in lines for line in some]
        parts = [whole[first : first + MAX_BATCH_LINES] for first in range(0, len(whole), MAX_BATCH_LINES)]
        found = [preprocessor.pieces.ids(tf.constant(part, tf.string)) for part in parts]
        return SplitTexts(
            lines=whole,
            texts=np.repeat(np.arange(len(texts)), [len(some) for some in lines]),
            pieces=np.concatenate([part.values.numpy() for part in found]),
            starts=np.concatenate([[0], np.cumsum(np.concatenate([part.row_lengths().numpy() for part in found]))]),
        )

    def documents(self) -> tuple[np.ndarray, list[list[int]]]:
        """List the lines of each text that has a piece.

        Returns:
            (D,) indices of the texts, and for each text the index of the first piece of each line with pieces, and the
            end of the last line.
        """
        is_line = np.diff(self.starts) > 0
        texts, first = np.unique(self.texts[is_line], return_index=True)
        starts = np.split(self.starts[:-1][is_line], first[1:])
        ends = self.starts[1:][is_line][np.append(first[1:], is_line.sum()) - 1] if len(texts) else ()
        return texts, [[*some.tolist(), int(end)] for some, end in zip(starts, ends, strict=False)]

    def unknown(self, preprocessor: EncoderTokens) -> dict[str, Unknown]:
        """Count the pieces and the unknown words."""
        (field,) = preprocessor.fields
        unknown = np.flatnonzero(self.pieces == preprocessor.pieces.unknown_id)
        indices = np.unique(np.searchsorted(self.starts, unknown, side="right") - 1)
        words = ()
        if len(indices):
            words = preprocessor.pieces.unknown(tf.constant([self.lines[index] for index in indices]))[1].numpy()
        return {field: Unknown.of(len(self.pieces), words)}
