"""Stacking of raw fields, flattening of lists of texts, and padding of sequences."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tfattn.features import MASKS, PADDING_MASK, TOKEN_IDS
from tfattn.formats.columns import even


def padded(features: dict[str, Any]) -> dict[str, tf.Tensor]:
    """Pad ragged sequences with zeros to the longest of the batch, and add padding masks.

    Args:
        features: the features of a preprocessor: sequences ragged (B, (T)), or (B, (N), (T)), others (B, ...).

    Returns:
        the same names, sequences as (B, T), and `padding_mask` (B, T) bool or the mask of `features.MASKS`;
        (B, N, T) for lists of sequences.

    Example:
        >>> padded({"token_ids": tf.ragged.constant([[5, 6], [7]])})["token_ids"].numpy().tolist()
        [[5, 6], [7, 0]]
    """
    dense = {name: x.to_tensor() if isinstance(x, tf.RaggedTensor) else x for name, x in features.items()}
    for name in (TOKEN_IDS, *MASKS):
        ragged = features.get(name)
        if isinstance(ragged, tf.RaggedTensor):
            lengths = ragged.row_lengths(axis=ragged.ragged_rank)
            lengths = lengths.to_tensor() if isinstance(lengths, tf.RaggedTensor) else lengths
            dense[MASKS.get(name, PADDING_MASK)] = tf.sequence_mask(lengths, tf.shape(dense[name])[-1])
    return dense


def stack_fields(rows: Sequence[Mapping[str, str | list[str]]], names: Sequence[str]) -> dict[str, tf.Tensor]:
    """Stack raw fields of B rows: (B,) for texts, (B, N) for lists of texts.

    Args:
        rows: the fields of each row, by name.
        names: the fields to stack.
    """
    return {name: tf.constant(even([row[name] for row in rows]), tf.string) for name in names}


class SeveralTexts:
    """The lists of texts (B, N) of B rows, with E texts that are not empty.

    Args:
        texts: (B, N) strings; empty texts are padding.
    """

    def __init__(self, texts: tf.Tensor):
        self._num_rows, self._width = tf.unstack(tf.shape(texts, tf.int64))
        flat = tf.reshape(texts, [-1])
        self._indices = tf.where(tf.strings.length(flat) > 0)[:, 0]
        self._texts = tf.gather(flat, self._indices)
        self._rows = self._indices // tf.maximum(self._width, 1)

    def flatten(self, fields: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Return a row for each text, (E,), with the other fields (B,) of its row."""
        return {
            name: self._texts if values.shape.rank == 2 else tf.gather(values, self._rows)
            for name, values in fields.items()
        }

    def regroup(self, sequences: tf.RaggedTensor) -> tf.RaggedTensor:
        """Group the sequences (E, (T)) of all texts by rows: (B, (N), (T)), empty for padding."""
        num_texts = self._num_rows * self._width
        lengths = tf.scatter_nd(self._indices[:, None], sequences.row_lengths(), [num_texts])
        inner = tf.RaggedTensor.from_row_lengths(sequences.values, lengths, validate=False)
        splits = tf.range(self._num_rows + 1) * self._width
        return tf.RaggedTensor.from_row_splits(inner, splits, validate=False)

    def any(self, flags: tf.Tensor) -> tf.Tensor:
        """Return whether any flag (E,) of the texts of each row is set: (B,) bool."""
        return tf.math.unsorted_segment_sum(tf.cast(flags, tf.int32), self._rows, self._num_rows) > 0
