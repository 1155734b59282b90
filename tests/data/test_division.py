"""The order of training rows: random, of the seed and the row alone."""

import numpy as np

from tfattn.data.division import keys


def test_keys_depend_on_the_seed_and_the_row_alone():
    rows = np.arange(100_000)
    whole = keys(rows, seed=7)
    assert whole.dtype == np.uint64
    assert len(np.unique(whole)) == len(rows)
    assert keys(rows[500:600], seed=7).tolist() == whole[500:600].tolist()
    assert (keys(rows, seed=8) != whole).all()
    # Should this ever change, the records of everybody's data would come in another order.
    assert keys(np.arange(2), seed=7).tolist() == [13309476754707697221, 11984929618412882174]


def test_keys_are_spread_evenly():
    counts = np.histogram(keys(np.arange(100_000), seed=1).astype(float), bins=10, range=(0.0, 2.0**64))[0]
    assert abs(counts - 10_000).max() < 400
    rank = np.argsort(np.argsort(keys(np.arange(100_000), seed=1)))
    assert abs(np.corrcoef(np.arange(100_000), rank)[0, 1]) < 0.02
