"""Positions: values of the paper, and products that depend only on distances."""

import keras
import numpy as np
import pytest

from tfattn.ops.positions import restarting, rotary, sinusoidal, sinusoidal_grid

pytestmark = pytest.mark.every_backend

X = np.random.default_rng(0).normal(size=(2, 3, 5, 8)).astype("float32")


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_sinusoidal_by_hand():
    # D = 4: sin p, cos p, sin(p / 100), cos(p / 100).
    table = array(sinusoidal(np.array([0, 1, 2]), 4))
    expected = [
        [0.0, 1.0, 0.0, 1.0],
        [0.84147098, 0.54030231, 0.00999983, 0.99995000],
        [0.90929743, -0.41614684, 0.01999867, 0.99980001],
    ]
    np.testing.assert_allclose(table, expected, atol=1e-6)


@pytest.mark.parametrize("width", [128, 7])
def test_sinusoidal_equals_the_formula_in_float64(width):
    positions, component = np.arange(600)[:, None], np.arange(width)
    angles = positions / 10000.0 ** (component // 2 * 2 / width)
    expected = np.where(component % 2, np.cos(angles), np.sin(angles))
    table = array(sinusoidal(np.arange(600), width))
    assert table.dtype == "float32"
    np.testing.assert_allclose(table, expected, atol=1e-4)
    np.testing.assert_allclose(array(sinusoidal(np.int32(431), width)), table[431], atol=1e-6)


def test_rotary_by_hand():
    # K = 4: components 0 and 2 turn by p, components 1 and 3 by p / 100.
    x = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 2.0, 0.0]], "float32")
    turned = array(rotary(x, np.array([1, 2])))
    expected = [
        [0.54030231, 0.99995000, 0.84147098, 0.00999983],
        [-2 * 0.90929743, 0.99980001, -2 * 0.41614684, 0.01999867],
    ]
    np.testing.assert_allclose(turned, expected, atol=1e-6)


def test_rotary_products_depend_only_on_distances():
    near, far = (array(rotary(X, np.arange(5) + offset)) for offset in (0, 37))
    products = [np.einsum("bhtk,bhsk->bhts", turned, turned) for turned in (near, far)]
    np.testing.assert_allclose(products[0], products[1], atol=1e-4)
    assert np.abs(products[0] - np.einsum("bhtk,bhsk->bhts", X, X)).max() > 0.1


def test_rotary_keeps_lengths_types_and_position_0():
    turned = array(rotary(X, np.arange(5)))
    np.testing.assert_allclose((turned**2).sum(-1), (X**2).sum(-1), rtol=1e-5)
    np.testing.assert_array_equal(turned[:, :, 0], X[:, :, 0])
    half = rotary(keras.ops.cast(X, "bfloat16"), np.arange(5))
    assert keras.backend.standardize_dtype(half.dtype) == "bfloat16"
    np.testing.assert_allclose(array(keras.ops.cast(half, "float32")), turned, atol=0.03)


def test_rotary_takes_positions_of_each_row():
    positions = np.array([[0, 1, 2, 3, 4], [7, 8, 0, 1, 2]])
    turned = array(rotary(X, positions[:, None]))
    for row in range(2):
        np.testing.assert_allclose(turned[row], array(rotary(X[row], positions[row])), atol=1e-6)


def test_positions_restart_in_every_text():
    packed = np.array([[1, 1, 1, 2, 2, 3, 0, 0], [1, 2, 2, 2, 2, 2, 2, 2]])
    assert array(restarting(packed))[:, :6].tolist() == [[0, 1, 2, 0, 1, 0], [0, 0, 1, 2, 3, 4]]


def test_grid_positions_encode_row_and_column():
    places = array(sinusoidal_grid(3, 4, 10)).reshape(3, 4, 10)
    rows, columns = array(sinusoidal(np.arange(3), 5)), array(sinusoidal(np.arange(4), 5))
    np.testing.assert_allclose(places[..., :5], np.repeat(rows[:, None], 4, axis=1), atol=1e-6)
    np.testing.assert_allclose(places[..., 5:], np.repeat(columns[None], 3, axis=0), atol=1e-6)
    assert len(np.unique(places.reshape(12, 10).round(4), axis=0)) == 12


def test_rotary_with_fewer_rates_keeps_the_last_components():
    rates = [1.0, 0.25]
    turned = array(rotary(X, np.arange(5), rates=rates))
    np.testing.assert_array_equal(turned[..., 4:], X[..., 4:])
    points = X[..., :2] + 1j * X[..., 2:4]
    points = points * np.exp(1j * np.arange(5)[:, None] * np.array(rates))
    np.testing.assert_allclose(turned[..., :4], np.concatenate([points.real, points.imag], axis=-1), atol=1e-5)


def test_rotary_with_the_rates_of_the_base_is_the_same():
    with_rates = array(rotary(X, np.arange(5), rates=[1.0, 0.1, 0.01, 0.001]))
    np.testing.assert_allclose(with_rates, array(rotary(X, np.arange(5))), atol=1e-6)
