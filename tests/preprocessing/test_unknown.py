"""Counts of unknown values: sums and limits."""

from collections import Counter

import tensorflow as tf

from tfattn.preprocessing.preprocessor import Preprocessor
from tfattn.preprocessing.unknown import MAX_VALUE_LENGTH, MAX_VALUES, Unknown


def test_counts_of_batches_can_be_added_in_any_order():
    batches = [Unknown.of(4, ["泵".encode(), b" a b "]), Unknown.of(2, ["泵".encode()]), Unknown()]
    whole = Unknown(6, 3, Counter({"泵": 2, "a b": 1}))
    assert sum(batches, Unknown()) == sum(batches[::-1], Unknown()) == whole
    assert whole.fraction == 0.5 and Unknown().fraction == 0.0


def test_many_or_long_values_are_truncated():
    many = Unknown.of(9, [b"word %d" % number for number in range(2 * MAX_VALUES)])
    often = Unknown.of(9, [b"x" * 1000] * 2 + [b"other"] * 3)
    both = many + often
    assert both.unknown == 2 * MAX_VALUES + 5 and len(both.values) == MAX_VALUES
    assert both.values.most_common(2) == [("other", 3), ("x" * MAX_VALUE_LENGTH, 2)]


def test_by_default_there_are_no_unknown_values():
    assert Preprocessor().unknown({"text": tf.constant(["a"])}) == {}
    assert Preprocessor().unknown_remedy == ""
