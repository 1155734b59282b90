"""Duplicate rows: the first is not a duplicate, and only evaluation rows can be leaked."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfattn.data.preparation.duplicates import find_duplicates

rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans()), max_size=30)


@given(rows=rows)
def test_every_row_is_marked_correctly(rows):
    texts, strata, is_training = (
        np.array([row[column] for row in rows], kind) for column, kind in enumerate((np.uint64, np.int32, bool))
    )
    found = find_duplicates(texts, strata, is_training)
    for number, (text, _, trains) in enumerate(rows):
        alike = [other for other in rows if other[0] == text]
        assert found.is_duplicate[number] == any(other[0] == text for other in rows[:number])
        assert found.is_conflicting[number] == (len({stratum for _, stratum, _ in alike}) > 1)
        assert found.is_leaked[number] == (not trains and any(other[2] for other in alike))
