"""Numbered texts: what goes in comes out, whatever the order in which parts are put together."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfattn.data.dictionary_encoded import DictionaryEncoded

texts = st.lists(st.sampled_from(["", "a", "b", "Ä", "b "]), max_size=20)


@given(parts=st.lists(texts, min_size=1, max_size=4))
def test_concatenated_parts_equal_the_whole(parts):
    whole = [text for part in parts for text in part]
    joined = DictionaryEncoded.concatenate([DictionaryEncoded.of(part) for part in parts])
    assert list(joined.texts()) == whole
    assert joined.names == sorted(set(whole))
    assert joined.counts == {name: whole.count(name) for name in set(whole)}


@given(some=texts, seed=st.integers(0, 99))
def test_some_rows_keep_their_texts_and_no_others(some, seed):
    rows = np.random.default_rng(seed).permutation(len(some))[: len(some) // 2]
    taken = DictionaryEncoded.of(some)[rows]
    assert list(taken.texts()) == [some[row] for row in rows]
    assert taken.names == sorted({some[row] for row in rows})
