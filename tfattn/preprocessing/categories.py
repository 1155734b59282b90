"""Categorical columns of a table: an id for each value of the training rows."""

from collections.abc import Collection, Mapping, Sequence, Set

import tensorflow as tf

from tfattn.errors import DataError

UNKNOWN_ID, EMPTY_ID, FIRST_ID = 0, 1, 2
_BETWEEN = "\x1f"  # column and value


def column_values(name: str, distinct: Set[str], missing: Sequence[str], *, rows: int) -> list[str]:
    """Return the sorted values of a column, without the texts that mean a missing value.

    Args:
        name: the name of the column, for the message.
        distinct: the distinct values of the training rows.
        missing: the texts that mean a missing value.
        rows: the number of training rows, for the message.

    Raises:
        DataError: all values are equal.
    """
    if len(distinct - set(missing)) + (not distinct.isdisjoint(missing)) < 2:
        raise DataError(
            f"the column `{name}` is constant",
            expected="at least 2 different values among the training rows",
            received=f"{min(distinct)!r} in all {rows} rows",
            remedy="Remove it from `categorical`.",
        )
    return sorted(distinct - set(missing))


class Categories(tf.Module):
    """Lookup of the ids of values in categorical columns.

    Args:
        values: the known values of each of the M columns, by name, in order.
        missing: the texts that mean a missing value.
        may_be_missing: the columns that lacked a value in some training rows.

    Attributes:
        values, missing, may_be_missing: as given.
        counts: the number of ids of each column: its values, an id for unknown values and an id for missing values.
    """

    def __init__(self, values: Mapping[str, Sequence[str]], *, missing: Sequence[str], may_be_missing: Collection[str]):
        super().__init__()
        self.values = {name: list(known) for name, known in values.items()}
        self.missing = list(missing)
        self.may_be_missing = [name for name in values if name in may_be_missing]
        self.counts = [FIRST_ID + len(known) for known in values.values()]
        # A single table for all columns: keys have the index of the column.
        self._prefixes = [f"{index}{_BETWEEN}" for index in range(len(values))]
        keys = [
            prefix + value for prefix, known in zip(self._prefixes, values.values(), strict=True) for value in known
        ]
        ids = [FIRST_ID + index for known in values.values() for index in range(len(known))]
        entries = tf.lookup.KeyValueTensorInitializer(keys, ids, tf.string, tf.int32)
        self._table = tf.lookup.StaticHashTable(entries, UNKNOWN_ID)

    def to_dict(self) -> dict[str, list[str]]:
        """Return the known values of each column for JSON."""
        return {name: list(known) for name, known in self.values.items()}

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Look up the ids of texts (B, M), int32: 0 for unknown values, 1 for missing values, known values from 2."""
        texts = tf.strings.strip(texts)
        ids = self._table.lookup(tf.strings.join([tf.broadcast_to(self._prefixes, tf.shape(texts)), texts]))
        return tf.where(is_in(texts, self.missing), EMPTY_ID, ids)

    def unseen(self, ids: tf.Tensor) -> tf.Tensor:
        """Find ids (B, M) of values that no training row had, missing values included: (B, M) bool."""
        never_missing = [name not in self.may_be_missing for name in self.values]
        return (ids == UNKNOWN_ID) | ((ids == EMPTY_ID) & never_missing)


def is_in(texts: tf.Tensor, options: Sequence[str]) -> tf.Tensor:
    """Return which texts, of any shape, are in a list of options: bool of the same shape."""
    return tf.reduce_any(tf.equal(texts[..., None], tf.constant(list(options), tf.string)), axis=-1)
