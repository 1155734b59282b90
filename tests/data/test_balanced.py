"""Batches with equal parts of each class."""

import numpy as np
import pytest

from tfattn.data.balanced import balanced_batches
from tfattn.data.batching import Batching
from tfattn.errors import ConfigError

LABEL_IDS = np.array([0] * 7 + [1] * 20 + [2] * 3)


def drawn(**options):
    options = {"batch_size": 6, "batches": None, "generator": np.random.default_rng(0)} | options
    return list(balanced_batches(np.arange(100, 130), LABEL_IDS, **options))


def test_every_batch_has_equally_many_rows_of_each_class():
    batches = drawn()
    assert all(np.bincount(LABEL_IDS[batch - 100]).tolist() == [2, 2, 2] for batch in batches)
    assert len(batches) == 10  # then all 20 rows of the largest class have come
    assert len(np.unique(np.concatenate(batches))) == 30


def test_rows_repeat_only_after_all_rows_of_their_class():
    rows, counts = np.unique(np.concatenate(drawn(batches=50)), return_counts=True)
    for label in range(3):
        seen = counts[LABEL_IDS[rows - 100] == label]
        assert seen.max() - seen.min() <= 1 and seen.sum() == 100


def test_classes_that_do_not_share_a_batch_evenly_are_refused():
    with pytest.raises(ConfigError, match="a multiple of 3, the number of classes, received 8"):
        drawn(batch_size=8)


def test_only_training_batches_are_balanced():
    batching = Batching(batch_size=6, balanced=True, batches_per_epoch=7, window=15)
    shards = np.split(np.random.default_rng(1).permutation(LABEL_IDS), 2)
    lengths = [np.ones(15, np.int32)] * 2

    def plan(epoch, shuffle=True):
        windows = batching.plan(lengths, seed=3, epoch=epoch, shuffle=shuffle, label_ids=shards)
        return [batch.tolist() for window in windows for batch in window.batches]

    assert len(plan(0)) == 7
    assert plan(0) == plan(0) != plan(1)
    assert sorted(sum(plan(0, shuffle=False), [])) == list(range(30))


@pytest.mark.parametrize("asked", [None, 1, 10])
def test_batches_have_all_classes_if_most_files_have_one_class(asked):
    shards = np.split(np.sort(np.repeat([0, 1], 20)), 8)
    batching = Batching(batch_size=4, balanced=True, batches_per_epoch=asked, window=5)
    lengths = [np.ones(5, np.int32)] * 8
    for epoch in range(4):
        windows = batching.plan(lengths, seed=3, epoch=epoch, shuffle=True, label_ids=shards)
        batches = [batch for window in windows for batch in window.batches]
        assert asked in (None, len(batches))
        assert all(np.bincount(np.concatenate(shards)[batch]).tolist() == [2, 2] for batch in batches)
