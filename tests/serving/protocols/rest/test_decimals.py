"""Float32 numbers in as few digits as say them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.protocols.rest.decimals import shortest

FLOATS = st.lists(st.floats(width=32), max_size=4)


@settings(deadline=None)
@given(FLOATS, st.sampled_from([0, 60]))
def test_what_is_written_is_the_same_float32_and_no_other_is_shorter(numbers, more):
    given = np.array(numbers + [0.5] * more, np.float32)
    found = shortest(given)
    assert found.dtype == np.float64
    with np.errstate(over="ignore"):
        assert np.array_equal(found.astype(np.float32), given, equal_nan=True)
    for number, exact in zip(found.tolist(), given, strict=True):
        assert repr(number) == repr(float(str(exact)))


@pytest.mark.parametrize("count", [1, 1000])
def test_numbers_that_everybody_knows(count):
    numbers = np.full(count, 0.1, np.float32)
    assert shortest(numbers).tolist() == [0.1] * count
    assert shortest(np.full((count, 2), 16777216, np.float32)).tolist() == [[16777216.0] * 2] * count
    assert shortest(np.full(count, 3.4028235e38, np.float32)).tolist() == [3.4028235e38] * count
    assert shortest(np.full(count, 1e-45, np.float32)).tolist() == [1e-45] * count


def test_shapes_stay():
    for shape in ((), (0,), (2, 0), (3, 1), (10, 10, 2)):
        assert shortest(np.ones(shape, np.float32)).shape == shape
