"""The contract of preprocessing: raw fields in, features out, the same code in training and inside the export."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tensorflow as tf


class Preprocessor(tf.Module):
    """Turns one batch of raw fields into features, in the graph.

    The life of one: constructed from its YAML section; `fit` on the training rows (or `load` from a folder that `save`
    wrote); then called.

    Attributes:
        fields: the names of the raw fields it reads, in order.
    """

    fields: tuple[str, ...]

    def fit(self, rows: Iterable[dict[str, str]]) -> None:
        """Learns what it needs (a vocabulary, a scale) from training rows."""
        raise NotImplementedError

    def save(self, folder: Path) -> None:
        """Writes what `load` needs into an existing folder, as text files that other tools can read."""
        raise NotImplementedError

    def load(self, folder: Path) -> None:
        """Reads what `save` wrote."""
        raise NotImplementedError

    def __call__(self, fields: dict[str, tf.Tensor]) -> dict[str, Any]:
        """Raw fields, each (B,), to features; sequences are ragged (B, (T))."""
        raise NotImplementedError

    def truncated(self, fields: dict[str, tf.Tensor]) -> tf.Tensor:
        """(B,) bool, whether a row is too long and `__call__` cuts it; never, unless a preprocessor has a limit."""
        return tf.zeros(tf.shape(fields[self.fields[0]]), tf.bool)
