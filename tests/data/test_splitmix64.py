"""Random numbers: uniform, and a function of seed and row."""

import numpy as np
import tensorflow as tf

from tfattn.data.examples.transforms import epoch_key, seeds_of
from tfattn.data.splitmix64 import row_keys, uniform


def test_keys_depend_only_on_seed_and_row():
    rows = np.arange(100_000)
    whole = row_keys(rows, seed=7)
    assert whole.dtype == np.uint64
    assert len(np.unique(whole)) == len(rows)
    assert row_keys(rows[500:600], seed=7).tolist() == whole[500:600].tolist()
    assert (row_keys(rows, seed=8) != whole).all()
    # A change of these values would change the order of the records of existing data.
    assert row_keys(np.arange(2), seed=7).tolist() == [13309476754707697221, 11984929618412882174]


def test_keys_are_uniform():
    counts = np.histogram(row_keys(np.arange(100_000), seed=1).astype(float), bins=10, range=(0.0, 2.0**64))[0]
    assert abs(counts - 10_000).max() < 400
    rank = np.argsort(np.argsort(row_keys(np.arange(100_000), seed=1)))
    assert abs(np.corrcoef(np.arange(100_000), rank)[0, 1]) < 0.02


def test_numbers_are_uniform_and_independent():
    seeds = seeds_of(tf.range(400), epoch_key(seed=1, epoch=2))
    numbers = np.stack([uniform(seeds, 250, draw=draw) for draw in (0, 1)])
    assert numbers.min() >= 0 and numbers.max() < 1
    counts, _ = np.histogram(numbers, bins=50, range=(0, 1))
    assert np.sum((counts - 4000) ** 2 / 4000) < 101  # 99.999 % of even spreads, 49 degrees of freedom
    for one, other in (
        (numbers[0], numbers[1]),
        (numbers[:, :, 1:], numbers[:, :, :-1]),
        (numbers[:, 1:], numbers[:, :-1]),
    ):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.011  # 3.3 standard deviations


def test_the_first_numbers_are_the_same_for_any_count():
    seeds = seeds_of(tf.range(4), epoch_key(seed=1, epoch=2))
    np.testing.assert_array_equal(uniform(seeds, 9)[:, :5], uniform(seeds, 5))
