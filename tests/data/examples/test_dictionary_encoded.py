"""Dictionary-encoded texts: round trip for any order of parts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded

texts = st.lists(st.sampled_from(["", "a", "b", "Ä", "b "]), max_size=20)


@given(parts=st.lists(texts, min_size=1, max_size=4))
def test_concatenated_parts_equal_the_whole(parts):
    whole = [text for part in parts for text in part]
    joined = DictionaryEncoded.concatenate([DictionaryEncoded.of(part) for part in parts])
    assert list(joined.texts()) == whole
    assert joined.names == sorted(set(whole))
    assert joined.counts == {name: whole.count(name) for name in set(whole)}


@given(some=texts, seed=st.integers(0, 99))
def test_selected_rows_keep_only_their_texts(some, seed):
    rows = np.random.default_rng(seed).permutation(len(some))[: len(some) // 2]
    taken = DictionaryEncoded.of(some)[rows]
    assert list(taken.texts()) == [some[row] for row in rows]
    assert taken.names == sorted({some[row] for row in rows})
