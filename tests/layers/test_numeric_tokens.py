"""Tokens of numbers: formulas by hand, independent columns, float32."""

import keras
import numpy as np
import pytest

from tfattn.layers.numeric_tokens import LinearTokens, PeriodicTokens, PiecewiseLinearTokens

X = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
KINDS = {
    "linear": (LinearTokens(width=6), 1),
    "piecewise linear": (PiecewiseLinearTokens(width=6, num_bins=5), 5),
    "periodic": (PeriodicTokens(width=6), 1),
}


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_linear_by_hand():
    layer = LinearTokens(width=2)
    layer.build((None, 2))
    layer.projection.set_weights([np.array([[[1.0, 2.0]], [[-1.0, 0.5]]]), np.array([[0.0, 10.0], [1.0, 0.0]])])
    # 3 (1, 2) + (0, 10) and 4 (-1, 0.5) + (1, 0)
    np.testing.assert_allclose(array(layer(np.array([[3.0, 4.0]], "float32")))[0], [[3.0, 16.0], [-3.0, 2.0]])


def test_piecewise_linear_by_hand():
    layer = PiecewiseLinearTokens(width=2, num_bins=3)
    layer.build((None, 2 * 3))
    kernel = np.array([[[1.0, 0.0], [2.0, 1.0], [5.0, 5.0]], [[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]])
    layer.projection.set_weights([kernel, np.array([[0.5, 0.0], [0.0, 0.0]])])
    # The first number is a quarter through its second bin, the second above all bins.
    x = np.array([[1.0, 0.25, 0.0, 1.0, 1.0, 1.0]], "float32")
    # (1, 0) + (2, 1) / 4 + (0.5, 0) and (1, 1) + (1, 2) + (1, 3)
    np.testing.assert_allclose(array(layer(x))[0], [[2.0, 0.25], [3.0, 6.0]])


def test_periodic_by_hand():
    layer = PeriodicTokens(width=2, num_frequencies=2)
    layer.build((None, 1))
    layer.frequencies.assign([[1.0, 0.5]])
    # Rows: sine of either frequency, then cosine.
    layer.projection.set_weights(
        [np.array([[[1.0, 0.0], [0.0, 1.0], [3.0, 0.0], [0.0, 2.0]]]), np.array([[0.0, -1.0]])]
    )
    # x = 1/4: angles pi/2 and pi/4: (1 + 3 * 0, 0.7071 + 2 * 0.7071 - 1)
    np.testing.assert_allclose(array(layer(np.array([[0.25]], "float32")))[0], [[1.0, 1.1213203]], atol=1e-6)
    # x = 1/2: angles pi and pi/2: (0 - 3, 1 + 0 - 1), and ReLU
    np.testing.assert_allclose(array(layer(np.array([[0.5]], "float32")))[0], [[0.0, 0.0]], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_changes_only_its_token(kind):
    layer, width = KINDS[kind]
    x = np.repeat(X, width, axis=1)
    changed = x.copy()
    changed[:, width : 2 * width] += 0.1
    differs = (array(layer(changed)) != array(layer(x))).any(axis=(0, 2))
    assert differs.tolist() == [False, True, False]


def test_numbers_keep_float32_precision_under_bfloat16():
    layer = PeriodicTokens(width=6, frequency_scale=1.0, dtype="mixed_bfloat16")
    big, bigger = np.array([[5.0]], "float32"), np.array([[5.01]], "float32")  # equal in bfloat16
    assert (array(keras.ops.cast(layer(big), "float32")) != array(keras.ops.cast(layer(bigger), "float32"))).any()


def test_frequencies_have_the_requested_deviation():
    layer = PeriodicTokens(width=2, num_frequencies=500, frequency_scale=0.3)
    layer.build((None, 20))
    assert array(layer.frequencies).std() == pytest.approx(0.3, rel=0.05)
