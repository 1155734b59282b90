"""The split: exact shares, every class everywhere, the same for the same seed."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfattn.data.split import Split
from tfattn.errors import ConfigError, DataError

class_sizes = st.lists(st.integers(2, 40), min_size=1, max_size=6)
shares = st.sampled_from([(0.2, 0.0), (0.1, 0.1), (0.34, 0.33), (0.5, 0.0), (0.05, 0.3), (0.7, 0.2)])


def classes_of(sizes):
    return [f"class {number}" for number, size in enumerate(sizes) for _ in range(size)]


@given(sizes=class_sizes, shares=shares, seed=st.integers(0, 2**31 - 1), stratify=st.booleans())
def test_every_row_is_in_one_part(sizes, shares, seed, stratify):
    classes = classes_of(sizes)
    parts = Split(validation=shares[0], test=shares[1], stratify=stratify).assign(classes, seed)
    assert sorted(np.concatenate(list(parts.values()))) == list(range(len(classes)))
    assert all((np.diff(rows) > 0).all() for rows in parts.values())


@given(sizes=class_sizes, shares=shares, seed=st.integers(0, 1000))
def test_each_class_has_its_share_and_a_row_in_each_part(sizes, shares, seed):
    classes = classes_of(sizes)
    parts = Split(validation=shares[0], test=shares[1]).assign(classes, seed)
    counts = {part: Counter(classes[row] for row in rows) for part, rows in parts.items()}
    for number, size in enumerate(sizes):
        name = f"class {number}"
        assert counts["train"][name] >= 1
        assert counts["validation"][name] >= 1
        if shares[1] and size >= 3 and shares[0] * size <= size - 3:
            assert counts["test"][name] >= 1
        exact = shares[0] * size
        assert abs(counts["validation"][name] - exact) < 1 or counts["validation"][name] in (1, size - 1)


def test_the_whole_has_its_share_by_largest_remainder():
    parts = Split(validation=0.2).assign(classes_of([204, 168, 68, 40]), seed=7)
    assert {part: len(rows) for part, rows in parts.items()} == {"train": 384, "validation": 96}
    classes = np.array(classes_of([7, 7, 7, 7]))  # 1.4 each, 5.6 in all
    parts = Split(validation=0.2).assign(classes, seed=7)
    assert sorted(Counter(classes[parts["validation"]]).values()) == [1, 1, 2, 2]


def test_the_seed_decides_and_nothing_else():
    classes = classes_of([30, 30])
    first, again, other = (Split().assign(classes, seed)["validation"].tolist() for seed in (1, 1, 2))
    assert first == again != other
    # Should this ever change, everybody's data would be divided anew.
    assert Split().assign(["a"] * 10, seed=7)["validation"].tolist() == [0, 8]


def test_a_class_with_one_row_is_named_with_its_place():
    with pytest.raises(DataError) as error:
        Split().assign(["a", "b", "a"], seed=1, places=["x.csv:2", "x.csv:3", "x.csv:4"])
    assert str(error.value).startswith("x.csv:3: the class 'b' has one row: expected at least 2, one to train and one")
    with pytest.raises(DataError, match="the class 'b' has one row"):
        Split(stratify=False).assign(["a", "b", "a"], seed=1)


def test_without_validation_rows_one_row_is_enough():
    parts = Split().assign(["a", "b", "a"], seed=1, with_validation=False)
    assert {part: rows.tolist() for part, rows in parts.items()} == {"train": [0, 1, 2]}


def test_something_must_be_left_to_train_on():
    with pytest.raises(ConfigError, match=r"no rows are left for training.*received 0.6 \+ 0.4"):
        Split(validation=0.6, test=0.4)
