"""Activations against known values."""

import math
import typing

import keras
import numpy as np
import pytest

from tfattn.config.types import Activation
from tfattn.ops.activations import ACTIVATIONS, GATED_ACTIVATIONS

pytestmark = pytest.mark.every_backend

X = np.linspace(-4, 4, 33, dtype="float32")


def apply(name, x=X):
    activation = {**ACTIVATIONS, **GATED_ACTIVATIONS}[name]
    return keras.ops.convert_to_numpy(activation(keras.ops.convert_to_tensor(x)))


def test_gelu_is_x_times_the_normal_distribution_function():
    np.testing.assert_allclose(apply("gelu"), [x * 0.5 * (1 + math.erf(x / math.sqrt(2))) for x in X], atol=1e-6)


def test_gelu_approximate():
    expected = [0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) for x in X]
    np.testing.assert_allclose(apply("gelu_approximate"), expected, atol=1e-6)


def test_the_two_gelus_differ_by_less_than_a_thousandth():
    assert 1e-5 < np.abs(apply("gelu") - apply("gelu_approximate")).max() < 1e-3


def test_relu():
    np.testing.assert_array_equal(apply("relu"), np.maximum(X, 0))


def test_reglu_multiplies_one_half_by_relu_of_the_other():
    x = np.array([[2.0, -3.0, 5.0, 7.0], [0.5, 1.0, -4.0, 0.0]], "float32")
    np.testing.assert_array_equal(apply("reglu", x), [[10.0, 0.0], [-2.0, 0.0]])


def test_other_gated_activations():
    x = np.array([[1.0, -2.0, 3.0, 5.0]], "float32")
    np.testing.assert_allclose(apply("geglu", x), [[0.8413447 * 3, -2 * 0.0227501 * 5]], atol=1e-5)
    np.testing.assert_allclose(apply("geglu_approximate", x), [[0.8411920 * 3, -0.0454023 * 5]], atol=1e-5)
    np.testing.assert_allclose(apply("swiglu", x), [[0.7310586 * 3, -2 * 0.1192029 * 5]], atol=1e-5)
    np.testing.assert_allclose(apply("glu", x), [[0.7310586 * 3, 0.1192029 * 5]], atol=1e-5)


def test_silu_sigmoid_and_tanh():
    sigmoid = 1 / (1 + np.exp(-X))
    np.testing.assert_allclose(apply("sigmoid"), sigmoid, atol=1e-6)
    np.testing.assert_allclose(apply("silu"), X * sigmoid, atol=1e-6)
    np.testing.assert_allclose(apply("tanh"), np.tanh(X), atol=1e-6)


def test_configurations_accept_exactly_the_known_activations():
    assert {*typing.get_args(Activation)} == {*ACTIVATIONS, *GATED_ACTIVATIONS}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_keep_the_type(name):
    answer = ACTIVATIONS[name](keras.ops.convert_to_tensor(X, "bfloat16"))
    assert keras.backend.standardize_dtype(answer.dtype) == "bfloat16"
