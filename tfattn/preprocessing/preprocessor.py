"""The contract of preprocessing: raw fields in, features out, the same code in training and inside the export."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf

from tfattn.preprocessing.unknown import Unknown


class Preprocessor(tf.Module):
    """Turns one batch of raw fields into features, in the graph.

    The life of one: constructed from its YAML section; `fit` on the training rows (or `load` from a folder that `save`
    wrote); then called.

    Attributes:
        fields: the names of the raw fields it reads, in order.
        target_fields: the raw fields that are to be written: it reads them where they are given, which is in training.
        reads_columns: whether these are columns of the source, by their own names, whose values may be missing; else
            they are roles, such as `text`, for which the source names a column, and rows without a value are left out.
        max_length: the longest sequence that it makes; None where it makes no sequences.
        needs_pretrained: whether `adopt` has to be called first.
    """

    fields: tuple[str, ...]
    target_fields: tuple[str, ...] = ()
    reads_columns: bool = False
    max_length: int | None = None
    needs_pretrained: bool = False

    @property
    def sizes(self) -> dict[str, Any]:
        """What models must know of its features, by the names of their arguments; provisional until it is fitted."""
        raise NotImplementedError

    @property
    def max_tokens(self) -> int | None:
        """How many tokens of a row it reads; None for all."""
        return self.max_length

    @property
    def files(self) -> list[Path]:
        """The files that it reads when it is fitted."""
        return []

    def adopt(self, *, vocabulary: Path, lower_case: bool | None) -> None:
        """Takes over what published weights were trained with."""
        raise NotImplementedError

    def check(self, row: dict[str, str], where: str) -> None:
        """Refuses a row that cannot be read.

        Args:
            row: raw fields.
            where: file and line, for the message.

        Raises:
            DataError: names the place and the field.
        """

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Learns what it needs (a vocabulary, a scale) from training rows."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Writes what `load` needs into an existing folder, as text files that other tools can read."""
        raise NotImplementedError

    def load(self, folder: Path) -> None:
        """Reads what `save` wrote."""
        raise NotImplementedError

    def leaves_out(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """(B,) bool, whether a row is not to be trained on: too long, or of too unequal lengths; by default none is."""
        return tf.zeros(tf.shape(fields[self.fields[0]]), tf.bool)

    @property
    def unknown_remedy(self) -> str:
        """What a user can do where too much is unknown, full sentences."""
        return ""

    def unknown(self, fields: dict[str, tf.Tensor]) -> dict[str, Unknown]:
        """What of a batch of raw fields is unknown, by field; by default nothing can be."""
        return {}

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Turn raw fields, each (B,), into features; sequences are ragged (B, (T)).

        A row may give several examples, or none. Then features are those of all E examples, one row's after the
        other's, and `example_rows` (E,) says of which row each is.
        """
        raise NotImplementedError

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """(B,) bool, whether a row is too long and `__call__` cuts it; never, unless a preprocessor has a limit."""
        return tf.zeros(tf.shape(fields[self.fields[0]]), tf.bool)
