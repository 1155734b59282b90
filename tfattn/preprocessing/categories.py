"""The categorical columns of a table: an id for each value that training rows have."""

from collections.abc import Collection, Mapping, Sequence, Set

import tensorflow as tf

from tfattn.errors import DataError
from tfattn.preprocessing.numbers import one_of

UNKNOWN_ID, EMPTY_ID, FIRST_ID = 0, 1, 2
_BETWEEN = "\x1f"  # column and value


def distinct(name: str, different: Set[str], missing: Sequence[str], *, rows: int) -> list[str]:
    """Sort the values of a column, without the texts that stand for no value.

    Args:
        name: of the column, for the message.
        different: the different values of its training rows.
        missing: the texts that stand for no value.
        rows: how many training rows there are, for the message.

    Raises:
        DataError: all values are equal.
    """
    if len(different - set(missing)) + (not different.isdisjoint(missing)) < 2:
        raise DataError(
            f"the column `{name}` is constant",
            expected="at least 2 different values among the training rows",
            received=f"{min(different)!r} in all {rows} rows",
            remedy="Remove it from `categorical`.",
        )
    return sorted(different - set(missing))


class Categories(tf.Module):
    """The ids of the values of categorical columns.

    Args:
        values: the known values of each of the M columns, by name, in order.
        missing: the texts that stand for no value.
        may_be_missing: the columns that lacked a value in some training rows.

    Attributes:
        values, missing, may_be_missing: as given.
        counts: the number of ids of each column: its values, one for unknown values and one for no value.
    """

    def __init__(self, values: Mapping[str, Sequence[str]], *, missing: Sequence[str], may_be_missing: Collection[str]):
        super().__init__()
        self.values = {name: list(known) for name, known in values.items()}
        self.missing = list(missing)
        self.may_be_missing = [name for name in values if name in may_be_missing]
        self.counts = [FIRST_ID + len(known) for known in values.values()]
        # One table for all: a value is looked up together with the place of its column.
        self._prefixes = [f"{place}{_BETWEEN}" for place in range(len(values))]
        keys = [
            prefix + value for prefix, known in zip(self._prefixes, values.values(), strict=True) for value in known
        ]
        ids = [FIRST_ID + place for known in values.values() for place in range(len(known))]
        entries = tf.lookup.KeyValueTensorInitializer(keys, ids, tf.string, tf.int32)
        self._table = tf.lookup.StaticHashTable(entries, UNKNOWN_ID)

    def described(self) -> dict[str, list[str]]:
        """Return the known values of each column as JSON holds them."""
        return {name: list(known) for name, known in self.values.items()}

    def __call__(self, texts: tf.Tensor) -> tf.Tensor:
        """Look up the ids of texts (B, M), int32: 0 for a value that no training row had, 1 for none, known from 2."""
        texts = tf.strings.strip(texts)
        ids = self._table.lookup(tf.strings.join([tf.broadcast_to(self._prefixes, tf.shape(texts)), texts]))
        return tf.where(one_of(texts, self.missing), EMPTY_ID, ids)

    def unseen(self, ids: tf.Tensor) -> tf.Tensor:
        """Find ids (B, M) of what no training row had, a missing value included: (B, M) bool."""
        never_missing = [name not in self.may_be_missing for name in self.values]
        return (ids == UNKNOWN_ID) | ((ids == EMPTY_ID) & never_missing)
