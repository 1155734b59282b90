"""PreNormBlock: the first positions alone, and rows for which it is left out."""

import keras
import numpy as np
import pytest

from tfattn.layers.pre_norm_block import PreNormBlock

X = np.random.default_rng(0).normal(size=(6, 5, 8)).astype("float32")


def block(**options):
    keras.utils.set_random_seed(0)
    return PreNormBlock(**{"num_heads": 4, "intermediate_dim": 16, "initializer_range": 0.5, **options})


@pytest.mark.every_backend
@pytest.mark.parametrize("num_groups", [None, 2, 1])
def test_the_first_positions_alone_are_answered_as_among_all(num_groups):
    layer = block(num_groups=num_groups)
    whole, first = (keras.ops.convert_to_numpy(layer(X, num_queries=count)) for count in (None, 2))
    assert first.shape == (6, 2, 8)
    np.testing.assert_allclose(first, whole[:, :2], rtol=1e-4, atol=1e-4)


def test_rows_for_which_it_is_left_out_go_on_as_they_were():
    layer = block(stochastic_depth=0.9)
    answer = keras.ops.convert_to_numpy(layer(np.tile(X, (20, 1, 1)), training=True))
    is_same = (answer == np.tile(X, (20, 1, 1))).all(axis=(1, 2))
    assert 60 < is_same.sum() < 120  # of both parts, 0.81 of 120
    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(layer(X)) for _ in range(2)))
