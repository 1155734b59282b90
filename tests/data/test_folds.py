"""Folds: every row in one part, parts of similar size, whole groups."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.data.examples.dictionary_encoded import DictionaryEncoded
from tfattn.data.folds import fold_of_rows
from tfattn.errors import ConfigError, DataError

CLASSES = ["a", "b", "b"] * 20
GROUPS = [f"sample {number // 5}" for number in range(60)]  # 12 of 5 rows each


def parts_of(classes=CLASSES, groups=None, *, folds=4, seed=7, stratify=True):
    groups = None if groups is None else DictionaryEncoded.of(groups)
    return fold_of_rows(DictionaryEncoded.of(classes), groups, folds=folds, seed=seed, stratify=stratify)


@settings(deadline=None)
@given(rows=st.integers(5, 60), folds=st.integers(2, 5), seed=st.integers(0, 2**31 - 1), stratify=st.booleans())
def test_sizes_differ_by_one_at_most(rows, folds, seed, stratify):
    parts = parts_of(["a"] * rows, folds=folds, seed=seed, stratify=stratify)
    sizes = np.bincount(parts, minlength=folds)
    assert parts.shape == (rows,) and len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1


@settings(deadline=None)
@given(sizes=st.lists(st.integers(5, 30), min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_each_part_has_its_share_of_each_class(sizes, seed):
    classes = [f"class {number}" for number, size in enumerate(sizes) for _ in range(size)]
    parts = parts_of(classes, folds=5, seed=seed)
    for number, size in enumerate(sizes):
        counts = np.bincount(parts[np.array(classes) == f"class {number}"], minlength=5)
        assert counts.sum() == size
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("stratify", [True, False])
@settings(deadline=None)
@given(groups=st.lists(st.integers(0, 9), min_size=20, max_size=60), seed=st.integers(0, 1000))
def test_a_group_is_in_one_part(stratify, groups, seed):
    if len(set(groups)) < 3:
        return
    classes = (["a", "b"] * 30)[: len(groups)]
    parts = parts_of(classes, list(map(str, groups)), folds=3, seed=seed, stratify=stratify)
    assert set(parts) == {0, 1, 2}
    for group in set(groups):
        assert len(set(parts[np.array(groups) == group])) == 1


def test_groups_of_a_class_are_distributed():
    parts = parts_of(groups=GROUPS)
    assert Counter(parts.tolist()) == dict.fromkeys(range(4), 15)
    of_samples = ["a"] * 20 + ["b"] * 40  # four samples hold a alone
    assert Counter(parts_of(of_samples, GROUPS)[:20].tolist()) == dict.fromkeys(range(4), 5)


@pytest.mark.parametrize("stratify", [True, False])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_the_assignment_depends_only_on_the_seed(groups, stratify):
    first, again, other = (parts_of(groups=groups, seed=seed, stratify=stratify).tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_too_few_rows_are_reported():
    with pytest.raises(DataError, match="too few groups to divide: expected at least 4, received 3"):
        parts_of(groups=GROUPS[:15] * 4)
    with pytest.raises(ConfigError, match="too few rows to divide: expected at most 3, received 4") as caught:
        parts_of(["a", "b", "c"], stratify=False)
    assert caught.value.key == "folds"
    with pytest.raises(
        ConfigError,
        match=r"at most 2, the rows of the rarest class, received 4. Classes of fewer rows: 'b' \(2\), 'c' \(3\)\.",
    ):
        parts_of(["a"] * 9 + ["b"] * 2 + ["c"] * 3)


def test_whole_groups_may_leave_a_part_without_a_rare_class():
    groups = [str(number) for number in range(11)]
    assert set(parts_of(["a"] * 9 + ["b"] * 2, groups)) == {0, 1, 2, 3}
    with pytest.raises(ConfigError, match="expected at most 3, the rows of the most frequent class, received 4"):
        parts_of(["a"] * 3 + ["b"] * 2 + ["c"] * 2, groups[:7])
