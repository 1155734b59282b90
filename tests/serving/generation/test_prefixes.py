"""Prefixes: the longest one is found, the oldest ones go."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfattn.serving.generation.prefixes import MOST, Prefixes, common

TEXTS = st.lists(st.lists(st.integers(0, 1), min_size=1, max_size=6), min_size=1, max_size=12)


def keys_values(token_ids):
    """One value of 4 bytes for each token: itself."""
    return np.array(token_ids, np.float32).reshape(1, 1, 1, -1, 1)


def kept(texts, most_bytes=2**20):
    prefixes = Prefixes(most_bytes)
    for text in texts:
        prefixes.add(np.array(text), keys_values(text))
    return prefixes


@given(TEXTS, st.lists(st.integers(0, 1), max_size=8))
def test_the_longest_prefix_is_found_with_its_values(texts, wanted):
    length, found = kept(texts).longest(np.array(wanted, int))
    assert length == max(common(np.array(text), np.array(wanted, int)) for text in texts)
    np.testing.assert_array_equal(found[0, 0, 0, :length, 0], wanted[:length])


@given(TEXTS, st.integers(0, 80))
def test_it_never_keeps_more_than_it_may(texts, most_bytes):
    prefixes = kept(texts, most_bytes)
    sizes = [values.nbytes for _, values in prefixes._texts.values()]
    assert sum(sizes) == prefixes._bytes <= most_bytes


def test_what_was_used_last_stays():
    prefixes = kept([[1, 1, 1], [2, 2, 2]], most_bytes=24)
    prefixes.longest(np.array([1, 1]))
    prefixes.add(np.array([3, 3, 3]), keys_values([3, 3, 3]))
    assert [prefixes.longest(np.array([first]))[0] for first in (1, 2, 3)] == [1, 0, 1]


def test_a_longer_text_takes_the_place_of_its_beginning_and_a_shorter_one_is_known():
    prefixes = kept([[1, 2], [1, 2, 3], [1]])
    assert len(prefixes._texts) == 1 and prefixes.longest(np.array([1, 2, 3]))[0] == 3


def test_there_are_only_so_many_to_look_through():
    assert len(kept([[number] for number in range(2 * MOST)])._texts) == MOST


def test_what_is_kept_does_not_change_with_what_it_was_copied_from():
    values = keys_values([1, 2])
    prefixes = Prefixes(100)
    prefixes.add(np.array([1, 2]), values)
    values[:] = 0
    assert prefixes.longest(np.array([1, 2]))[1].ravel().tolist() == [1, 2]
