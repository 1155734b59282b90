"""Rows of a table of weights, by their numbers."""

from typing import Any

import keras
from keras import ops


def look_up(table: keras.Variable, ids: Any) -> Any:
    """Return rows of a table: (...) int -> (..., D).

    TensorFlow's variables gather them without a copy of the table, which `ops.take` makes once rows of it are changed
    in place: with a million words, that copy takes longer than all else.

    Args:
        table: (V, D).
        ids: (...), from 0 to V - 1.
    """
    gather = getattr(table.value, "sparse_read", None)
    return ops.take(table, ids, axis=0) if gather is None else gather(ids)
