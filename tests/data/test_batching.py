"""The plan of an epoch: every row once, within the size limit, a function of seed and epoch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfattn.data.batching import Batching
from tfattn.errors import ConfigError

shards_of_lengths = st.lists(
    st.lists(st.integers(1, 40), min_size=1, max_size=30).map(np.array), min_size=1, max_size=6
)
batchings = st.builds(
    lambda by_tokens, size, bucket, window: Batching(
        **({"max_tokens": 40 + size} if by_tokens else {"batch_size": size}), bucket_by_length=bucket, window=window
    ),
    st.booleans(),
    st.integers(1, 50),
    st.booleans(),
    st.integers(1, 80),
)


def batches_of(plan):
    return [rows for window in plan for rows in window.batches]


@settings(deadline=None)
@given(lengths=shards_of_lengths, batching=batchings, shuffle=st.booleans(), epoch=st.integers(0, 3))
def test_every_row_occurs_once_and_batches_are_within_the_limit(lengths, batching, shuffle, epoch):
    plan = batching.plan(lengths, seed=5, epoch=epoch, shuffle=shuffle)
    batches = batches_of(plan)
    tokens = np.concatenate(lengths)
    assert sorted(np.concatenate(batches)) == list(range(len(tokens)))
    assert sorted(np.concatenate([window.shards for window in plan])) == list(range(len(lengths)))
    for rows in batches:
        assert len(rows) > 0
        if batching.batch_size is not None:
            assert len(rows) <= batching.batch_size
        else:
            assert len(rows) * tokens[rows].max() <= batching.max_tokens


@settings(deadline=None)
@given(lengths=shards_of_lengths, batching=batchings)
def test_a_window_has_only_rows_of_its_shards(lengths, batching):
    shard_of_row = np.repeat(np.arange(len(lengths)), [len(shard) for shard in lengths])
    for window in batching.plan(lengths, seed=5, epoch=0, shuffle=True):
        assert set(shard_of_row[np.concatenate(window.batches)]) == set(window.shards)
        held = sum(len(lengths[shard]) for shard in window.shards[:-1])
        assert held < batching.window


def test_two_runs_agree_and_two_epochs_or_seeds_differ():
    lengths = [np.arange(1, 101), np.arange(1, 101)]
    batching = Batching(max_tokens=300)

    def order(seed, epoch):
        return np.concatenate(batches_of(batching.plan(lengths, seed=seed, epoch=epoch, shuffle=True))).tolist()

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_epochs_batch_different_rows_together():
    lengths = [np.repeat(np.arange(10, 20), 10)]
    batching = Batching(batch_size=10)
    epochs = [
        {frozenset(rows.tolist()) for rows in batches_of(batching.plan(lengths, seed=1, epoch=e, shuffle=True))}
        for e in (0, 1)
    ]
    assert len(epochs[0] & epochs[1]) <= 2


def test_without_shuffling_the_order_is_that_of_the_file_or_of_the_lengths():
    lengths = [np.array([3, 9, 3, 1])]
    in_file_order = Batching(batch_size=2, bucket_by_length=False).plan(lengths, seed=1, epoch=4, shuffle=False)
    by_length = Batching(batch_size=2).plan(lengths, seed=1, epoch=4, shuffle=False)
    assert [rows.tolist() for rows in batches_of(in_file_order)] == [[0, 1], [2, 3]]
    assert [rows.tolist() for rows in batches_of(by_length)] == [[1, 0], [2, 3]]


def test_bucketing_saves_padding():
    tokens = np.random.default_rng(0).integers(4, 64, 2000)

    def padded(bucket):
        batching = Batching(max_tokens=1024, bucket_by_length=bucket)
        return sum(
            len(rows) * tokens[rows].max()
            for rows in batches_of(batching.plan([tokens], seed=1, epoch=0, shuffle=True))
        )

    assert padded(True) < 1.1 * tokens.sum() < 1.5 * tokens.sum() < padded(False)


def test_a_row_longer_than_the_budget_is_refused_at_once():
    with pytest.raises(
        ConfigError, match="expected at least 12, the tokens of the longest row, received 10.*Raise `max_tokens`"
    ):
        Batching(max_tokens=10).plan([np.array([4, 12])], seed=1, epoch=0, shuffle=True)


@given(
    lengths=st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=200), shuffle=st.booleans()
)
def test_the_size_of_a_batch_of_pairs_includes_both_sides_and_padding(lengths, shuffle):
    pairs = np.array(lengths)
    batches = batches_of(Batching(max_tokens=120).plan([pairs], seed=5, epoch=0, shuffle=shuffle))
    assert sorted(np.concatenate(batches)) == list(range(len(pairs)))
    assert all(len(rows) * pairs[rows].max(axis=0).sum() <= 120 for rows in batches)


def test_pairs_of_similar_lengths_share_a_batch():
    chance = np.random.default_rng(0)
    targets = chance.integers(4, 40, 5000)
    pairs = np.stack([np.maximum(1, targets + chance.integers(-4, 5, 5000)), targets], axis=1)
    batches = batches_of(Batching(max_tokens=2048).plan([pairs], seed=5, epoch=0, shuffle=True))
    padded = sum(len(rows) * pairs[rows].max(axis=0).sum() for rows in batches)
    assert pairs.sum() / padded > 0.9


@settings(deadline=None)
@given(lengths=st.lists(st.tuples(st.integers(2, 5), st.integers(1, 30)), min_size=1, max_size=60))
def test_the_size_of_a_batch_of_lists_is_that_of_its_largest_list(lengths):
    shard = np.array(lengths)[:, None, :]  # how many sequences each record has, and the longest of them
    batches = batches_of(Batching(max_tokens=160).plan([shard], seed=5, epoch=0, shuffle=True))
    assert sorted(np.concatenate(batches)) == list(range(len(lengths)))
    for rows in batches:
        assert len(rows) * shard[rows].max(axis=0).prod() <= 160


def test_lists_of_similar_sizes_share_a_batch():
    shard = np.array([(number, longest) for number in (2, 4) for longest in range(10, 60)])[:, None, :]
    batches = batches_of(Batching(batch_size=10).plan([shard], seed=5, epoch=0, shuffle=True))
    for rows in batches:
        assert np.ptp(shard[rows, 0, 0]) == 0 and np.ptp(shard[rows, 0, 1]) < 20
