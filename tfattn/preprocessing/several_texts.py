"""Rows whose last text is several: each of these is read by itself, together with the others of its row."""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from tfattn.formats.columns import even


def columns_of(rows: Sequence[Mapping[str, str | list[str]]], names: Sequence[str]) -> dict[str, tf.Tensor]:
    """Collect raw fields of B rows: (B,) where they are texts, (B, N) where they are lists of texts.

    Args:
        rows: by the names of fields.
        names: which of them.
    """
    return {name: tf.constant(even([row[name] for row in rows]), tf.string) for name in names}


class SeveralTexts:
    """The texts (B, N) of B rows, of which an empty one is none; E are there.

    Args:
        texts: (B, N) strings.
    """

    def __init__(self, texts: tf.Tensor):
        self._num_rows, self._width = tf.unstack(tf.shape(texts, tf.int64))
        flat = tf.reshape(texts, [-1])
        self._places = tf.where(tf.strings.length(flat) > 0)[:, 0]
        self._texts = tf.gather(flat, self._places)
        self._rows = self._places // tf.maximum(self._width, 1)

    def each(self, fields: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Make a row of each text, (E,), with the other fields (B,) of its row."""
        return {
            name: self._texts if values.shape.rank == 2 else tf.gather(values, self._rows)
            for name, values in fields.items()
        }

    def together(self, sequences: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the sequences (E, (T)) of all texts to their rows: (B, (N), (T)), empty where there is no text."""
        num_texts = self._num_rows * self._width
        lengths = tf.scatter_nd(self._places[:, None], sequences.row_lengths(), [num_texts])
        inner = tf.RaggedTensor.from_row_lengths(sequences.values, lengths, validate=False)
        splits = tf.range(self._num_rows + 1) * self._width
        return tf.RaggedTensor.from_row_splits(inner, splits, validate=False)

    def any(self, flags: tf.Tensor) -> tf.Tensor:
        """Tell of each row, (B,) bool, whether a flag (E,) of its texts is set."""
        return tf.math.unsorted_segment_sum(tf.cast(flags, tf.int32), self._rows, self._num_rows) > 0
