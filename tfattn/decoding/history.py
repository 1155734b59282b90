"""The history of a beam search, from which texts are read backwards."""

from typing import Any, NamedTuple

import numpy as np
from keras import ops

from tfattn.decoding.loop import Decoded, expected_alignment
from tfattn.decoding.rounds import record
from tfattn.ops.indexing import pick


class Texts(NamedTuple):
    """Texts of rows, (B, n) each: scores, lengths in tokens, and the beam of the last token."""

    scores: Any
    lengths: Any
    beams: Any


class History(NamedTuple):
    """The tokens and parents that each step chose; a step writes one position and copies nothing.

    Attributes:
        token_ids: (L, B, W), the token of each beam.
        parents: (L, B, W), the beam that each beam continues.
        alignments: an empty tuple, or the alignments (L, B, W, S) of the continued beams.
    """

    token_ids: Any
    parents: Any
    alignments: tuple

    @classmethod
    def empty(cls, max_length: Any, batch: Any, num_beams: int, source_length: Any) -> "History":
        """Create an empty history with room for `max_length` steps."""
        choices = ops.zeros((max_length, batch, num_beams), dtype="int32")
        if source_length is None:
            return cls(choices, choices, ())
        return cls(choices, choices, (ops.zeros((max_length, batch, num_beams, source_length), dtype="float32"),))

    def extended(self, index: Any, rows: Any, token_ids: Any, parents: Any, alignment: Any) -> "History":
        """Add the choices (N, W) of one step for the unfinished rows, and their alignment (N W, S)."""
        alignments = ()
        if self.alignments:
            alignment = ops.reshape(expected_alignment(alignment), (*ops.shape(parents), -1))
            alignments = (record(self.alignments[0], index, rows, alignment),)
        return History(
            record(self.token_ids, index, rows, token_ids), record(self.parents, index, rows, parents), alignments
        )

    def texts(self, kept: Texts, num_steps: Any) -> Decoded:
        """Read texts (B, n) by following the parents from the last token of each to its first."""
        lengths = ops.where(kept.scores > -np.inf, kept.lengths, 0)
        max_length, batch, _ = ops.shape(self.token_ids)
        rows = ops.arange(batch, dtype="int32")
        num_kept = kept.scores.shape[1]

        def read_one(index: Any, beams: Any, texts: Any, aligned: tuple) -> tuple:
            index = index - 1
            is_inside = index < lengths
            token_ids = pick(ops.take(self.token_ids, index, axis=0), beams)
            parents = pick(ops.take(self.parents, index, axis=0), beams)
            texts = record(texts, index, rows, ops.where(is_inside, token_ids, 0))
            if aligned:
                alignment = pick(ops.take(self.alignments[0], index, axis=0), parents)  # (B, n, S)
                aligned = (record(aligned[0], index, rows, ops.where(is_inside[:, :, None], alignment, 0.0)),)
            return index, ops.where(is_inside, parents, beams), texts, aligned

        texts = ops.zeros((max_length, batch, num_kept), dtype="int32")
        aligned = tuple(
            ops.zeros((max_length, batch, num_kept, ops.shape(alignments)[3]), dtype="float32")
            for alignments in self.alignments
        )
        *_, texts, aligned = ops.while_loop(
            lambda index, *_: index > 0, read_one, (num_steps, kept.beams, texts, aligned)
        )
        alignment = ops.transpose(aligned[0], (1, 2, 0, 3)) if aligned else None  # (L, B, n, S) -> (B, n, L, S)
        return Decoded(ops.transpose(texts, (1, 2, 0)), lengths, kept.scores, alignment)
