"""The KV cache keeps its entries when it is resized; the prefix cache finds the longest prefix within its limits."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.serving.generation.kv_cache import (
    ALIGNMENT,
    MAX_PREFIXES,
    KVCache,
    Layout,
    PrefixCache,
    aligned,
    common_length,
    padded_size,
)

TEXTS = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=12)
LAYOUT = Layout(num_layers=2, num_groups=3, head_dim=4, dtype=np.dtype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16, bool])
@pytest.mark.parametrize("shape", [(1,), (3, 5, 7), (2, 2, 1, 3, 64, 4)])
def test_arrays_are_aligned(shape, dtype):
    for _ in range(5):
        array = aligned(shape, np.dtype(dtype))
        assert array.ctypes.data % ALIGNMENT == 0 and array.flags.c_contiguous and array.flags.writeable
        assert array.shape == shape and array.dtype == dtype and not array.any()


def test_resizing_keeps_the_entries_that_fit():
    random = np.random.default_rng(0)
    cache = KVCache(LAYOUT, rows=2, capacity=8)
    written = random.normal(size=(2, 2, 3, 5, 4)).astype(np.float32)
    cache.write(1, 2, written)
    cache.resize(4, 16)
    np.testing.assert_array_equal(cache.read(1, 7)[:, :, :, 2:], written)
    assert np.count_nonzero(cache.array) == written.size and cache.array.ctypes.data % ALIGNMENT == 0
    cache.resize(2, 4)
    np.testing.assert_array_equal(cache.read(1, 4)[:, :, :, 2:], written[:, :, :, :2])
    assert (cache.rows, cache.capacity) == (2, 4)


@pytest.mark.parametrize("count, expected", [(0, 1), (1, 1), (2, 2), (3, 4), (5, 6), (6, 6)])
def test_padded_sizes_double_up_to_the_limit(count, expected):
    assert padded_size(count, least=1, most=6) == expected


def keys_values(token_ids):
    """Keys and values that are the tokens themselves, 4 bytes each."""
    return np.array(token_ids, np.float32).reshape(1, 1, 1, -1, 1)


def kept(texts, max_bytes=2**20):
    prefixes = PrefixCache(max_bytes)
    for text in texts:
        prefixes.add(np.array(text), keys_values(text))
    return prefixes


@given(TEXTS, st.lists(st.integers(0, 1), max_size=8))
def test_the_longest_prefix_is_found_with_its_values(texts, wanted):
    length, found = kept(texts).longest(np.array(wanted, int))
    assert length == max(common_length(np.array(text), np.array(wanted, int)) for text in texts)
    np.testing.assert_array_equal(found[0, 0, 0, :length, 0], wanted[:length])


@given(TEXTS, st.integers(0, 80))
def test_the_prefix_cache_keeps_its_limit(texts, max_bytes):
    prefixes = kept(texts, max_bytes)
    sizes = [values.nbytes for _, values in prefixes._entries.values()]
    assert sum(sizes) == prefixes._bytes <= max_bytes


def test_the_least_recently_used_prefix_is_dropped():
    prefixes = kept([[1, 1, 1], [2, 2, 2]], max_bytes=24)
    prefixes.longest(np.array([1, 1]))
    prefixes.add(np.array([3, 3, 3]), keys_values([3, 3, 3]))
    assert [prefixes.longest(np.array([first]))[0] for first in (1, 2, 3)] == [1, 0, 1]


def test_a_longer_sequence_replaces_its_prefixes():
    prefixes = kept([[1, 2], [1, 2, 3], [1]])
    assert len(prefixes._entries) == 1 and prefixes.longest(np.array([1, 2, 3]))[0] == 3


def test_the_number_of_prefixes_is_limited():
    assert len(kept([[number] for number in range(2 * MAX_PREFIXES)])._entries) == MAX_PREFIXES


def test_entries_are_copies():
    values = keys_values([1, 2])
    prefixes = PrefixCache(100)
    prefixes.add(np.array([1, 2]), values)
    values[:] = 0
    assert prefixes.longest(np.array([1, 2]))[1].ravel().tolist() == [1, 2]
