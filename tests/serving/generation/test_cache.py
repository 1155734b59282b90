"""The cache: where it begins, and what stays when it grows, shrinks and moves."""

import ml_dtypes
import numpy as np
import pytest

from tfattn.serving.generation.cache import ALIGNMENT, Cache, Layout, aligned, room

LAYOUT = Layout(num_layers=2, num_groups=3, head_dim=4, dtype=np.dtype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, bool])
@pytest.mark.parametrize("shape", [(1,), (3, 5, 7), (2, 2, 1, 3, 64, 4)])
def test_an_array_begins_where_tensorflow_need_not_copy_it(shape, dtype):
    for _ in range(5):
        array = aligned(shape, np.dtype(dtype))
        assert array.ctypes.data % ALIGNMENT == 0 and array.flags.c_contiguous and array.flags.writeable
        assert array.shape == shape and array.dtype == dtype and not array.any()


def test_what_stands_in_both_stays_when_the_room_changes():
    random = np.random.default_rng(0)
    cache = Cache(LAYOUT, rows=2, capacity=8)
    written = random.normal(size=(2, 2, 3, 5, 4)).astype(np.float32)
    cache.write(1, 2, written)
    cache.resize(4, 16)
    np.testing.assert_array_equal(cache.read(1, 7)[:, :, :, 2:], written)
    assert np.count_nonzero(cache.array) == written.size and cache.array.ctypes.data % ALIGNMENT == 0
    cache.resize(2, 4)
    np.testing.assert_array_equal(cache.read(1, 4)[:, :, :, 2:], written[:, :, :, :2])
    assert (cache.rows, cache.capacity) == (2, 4)


def test_a_position_takes_as_many_bytes_as_the_array_says():
    assert Cache(LAYOUT, rows=3, capacity=8).array.nbytes == LAYOUT.position_bytes * 3 * 8


@pytest.mark.parametrize("count, expected", [(0, 1), (1, 1), (2, 2), (3, 4), (5, 6), (6, 6)])
def test_room_doubles_as_far_as_it_may(count, expected):
    assert room(count, least=1, most=6) == expected
