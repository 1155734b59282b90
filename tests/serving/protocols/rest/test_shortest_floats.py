"""Float32 numbers are written with the fewest digits that identify them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.serving.protocols.rest.shortest_floats import shortest_floats

FLOATS = st.lists(st.floats(width=32), max_size=4)


@settings(deadline=None)
@given(FLOATS, st.sampled_from([0, 60]))
def test_results_equal_the_float32_and_are_shortest(numbers, more):
    given = np.array(numbers + [0.5] * more, np.float32)
    found = shortest_floats(given)
    assert found.dtype == np.float64
    with np.errstate(over="ignore"):
        assert np.array_equal(found.astype(np.float32), given, equal_nan=True)
    for number, exact in zip(found.tolist(), given, strict=True):
        assert repr(number) == repr(float(str(exact)))


@pytest.mark.parametrize("count", [1, 1000])
def test_common_decimals(count):
    numbers = np.full(count, 0.1, np.float32)
    assert shortest_floats(numbers).tolist() == [0.1] * count
    assert shortest_floats(np.full((count, 2), 16777216, np.float32)).tolist() == [[16777216.0] * 2] * count
    assert shortest_floats(np.full(count, 3.4028235e38, np.float32)).tolist() == [3.4028235e38] * count
    assert shortest_floats(np.full(count, 1e-45, np.float32)).tolist() == [1e-45] * count


def test_shapes_are_kept():
    for shape in ((), (0,), (2, 0), (3, 1), (10, 10, 2)):
        assert shortest_floats(np.ones(shape, np.float32)).shape == shape
