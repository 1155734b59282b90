"""Numeric columns: scales, saturation, unseen values, and constant columns."""

from statistics import NormalDist

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import DataError
from tfattn.preprocessing.table import TableColumns


def one_column(values, **options):
    """A table of one numeric column, fitted."""
    table = TableColumns(numeric=("x",), **options)
    table.fit([{"x": str(value)} for value in values])
    return table


def encode(table, values, feature="numeric"):
    return table({"x": tf.constant([str(value) for value in values])})[feature].numpy()


def test_without_a_scale_only_factor_and_cap_apply():
    table = one_column([1, 3, 5000, 6000, ""], scaling="none", caps={"x": 5000.0}, multiply={"x": 10.0})
    np.testing.assert_array_equal(encode(table, [1, 2, 4000, 5000, 7000, ""])[:, 0], [10, 20, 4e4, 5e4, 5e4, 20])


def test_a_factor_changes_nothing_with_scaling():
    values = [0.001, 0.004, 0.012, 0.002]
    plain, larger = (one_column(values, multiply=factor, bins=2) for factor in (None, {"x": 1000.0}))
    for feature in ("numeric", "piecewise"):
        np.testing.assert_allclose(encode(plain, values, feature), encode(larger, values, feature), atol=1e-5)


def test_the_quantile_scale_is_monotone_normal_and_bounded():
    values = np.random.default_rng(0).lognormal(0, 3, 3000).astype(np.float32)
    table = one_column(values, scaling="quantile")
    training = encode(table, values)[:, 0]
    grid = encode(table, np.geomspace(1e-9, 1e9, 2000, dtype=np.float32))[:, 0]

    assert abs(training.mean()) < 1e-3 and abs(training.std() - 1) < 0.01
    assert (np.diff(grid) >= 0).all()
    assert grid[0] == training.min() and grid[-1] == training.max()
    assert len(table._numeric_columns.columns["x"].scale["values"]) == 1000


def test_the_quantile_scale_is_the_rank_of_each_value():
    values = [0, 0, 0, 0, 3, 9, 1, 1]
    ranks = {0: 2 / 8, 1: 5 / 8, 3: 6.5 / 8, 9: 7.5 / 8}
    table = one_column(values, scaling="quantile")
    scores = [NormalDist().inv_cdf(rank) for rank in ranks.values()]
    np.testing.assert_allclose(encode(table, list(ranks))[:, 0], scores, atol=1e-6)
    between = np.interp([0.25, 2, 5, -7, 100], list(ranks), scores)
    np.testing.assert_allclose(encode(table, [0.25, 2, 5, -7, 100])[:, 0], between, atol=1e-6)


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_saturated_numbers_are_above_all_others_in_their_own_bin(scaling):
    values = [1, 2, 3, 900, 5000, 5000]
    table = one_column(values, scaling=scaling, caps={"x": 5000.0}, bins=4)
    highest, unseen, saturated, beyond = encode(table, [900, 4999, 5000, 8000])[:, 0]
    assert highest == unseen < saturated == beyond
    assert saturated - highest < 1.5
    last_bin = encode(table, [1, 900, 4999, 5000, 8000], "piecewise")[:, 3]
    np.testing.assert_array_equal(last_bin, [0, 0, 0, 1, 1])


def test_unseen_saturation_is_above_all_others():
    table = one_column([1, 2, 3], caps={"x": 5000.0}, bins=3)
    np.testing.assert_array_equal(encode(table, [3, 5000], "piecewise")[:, 2], [0, 1])
    assert encode(table, [5000])[0, 0] > encode(table, [3])[0, 0]


def test_a_column_of_a_single_value_and_saturation_is_not_constant():
    table = one_column([0, 0, 5000], caps={"x": 5000.0}, bins=4)
    np.testing.assert_array_equal(encode(table, [0, 5000], "piecewise"), [[0, 0, 0, 0], [1, 0, 0, 0]])
    assert np.isfinite(encode(table, [0, 1, 5000, ""])).all()


def outside(table, values):
    return table.outside(table.numbers({"x": tf.constant(values)})).numpy()[:, 0].tolist()


def test_numbers_below_and_above_all_of_training_are_marked():
    table = one_column(["0.1", "3", "72", ""], multiply={"x": 0.3})
    assert outside(table, ["0.1", "72", "0.0999", "72.001", "-5", "1e30"]) == [False, False, True, True, True, True]


def test_saturation_and_missing_numbers_are_marked_where_training_had_none():
    capped = {"caps": {"x": 100.0}}
    assert outside(one_column([1, 5, 100, ""], **capped), ["100", "999", "99", ""]) == [False, False, True, False]
    assert outside(one_column([1, 5], **capped), ["100", "999", "99", ""]) == [True, True, True, True]


@pytest.mark.parametrize(
    ("values", "received"),
    [
        (["7", "7.0", "7"], "7 in all 3 rows"),
        (["7", "", "7"], "7 in 2 of 3 rows"),
        (["", "?", "NA"], "no value in 0 of 3 rows"),
        (["5000", "6000", "5001"], "5000 or more in all 3 rows"),
    ],
)
def test_a_constant_numeric_column_is_refused(values, received):
    with pytest.raises(DataError) as refused:
        one_column(values, caps={"x": 5000.0})
    assert str(refused.value) == (
        "the column `x` is constant: expected at least 2 different values among the training rows, "
        f"received {received}. Remove it from `numeric`."
    )
