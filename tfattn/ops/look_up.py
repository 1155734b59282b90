"""Rows of a table of weights, by their numbers."""

from typing import Any

import keras
from keras import ops


def look_up(table: keras.Variable, ids: Any) -> Any:
    """Return rows of a table: (...) int -> (..., D).

    TensorFlow's variables gather them without a copy of the table, which `ops.take` makes once rows of it are changed
    in place: with a million words, that copy takes longer than all else. Variables that are mirrored on several devices
    cannot.

    Args:
        table: (V, D).
        ids: (...), from 0 to V - 1.
    """
    try:
        return table.value.sparse_read(ids)
    except AttributeError:  # which mirrored variables raise on purpose, and other backends' arrays
        return ops.take(table, ids, axis=0)
