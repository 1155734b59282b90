"""Files with 8-bit weights are a quarter as large and compute nearly the same."""

import numpy as np

from tfattn.litert.model import LiteRtModel
from tfattn.litert.quantizer import matrices, quantize


def test_names_of_matrices(content):
    assert len(matrices(content)) == len(set(matrices(content))) >= 2


def test_values_are_close_and_files_small(network, inputs, content, saved):
    quantized = quantize(content)
    model = LiteRtModel(saved(quantized))
    floats = 4 * sum(int(weight.shape.num_elements()) for weight in network.weights)
    assert len(content) - len(quantized) > 0.6 * floats  # the tied table is stored once
    expected = network(**inputs)
    for signature in ("serving_default", "scores"):
        for name, values in model.run(signature, inputs).items():
            error = np.abs(values - expected[name])
            assert 0 < error.max() < 0.03 * np.abs(expected[name]).max()


def test_vectors_have_a_scale_each(network, inputs, content, saved):
    # A vector's rounding error is at most half a step of its own largest value.
    vectors = LiteRtModel(saved(quantize(content))).run("serving_default", inputs)["vectors"]
    expected = network(**inputs)["vectors"].numpy()
    assert (np.abs(vectors - expected) <= np.abs(expected).max(axis=-1, keepdims=True) / 254 + 1e-6).all()


def test_a_matrix_may_stay_in_float(inputs, content, saved):
    model, original = LiteRtModel(saved(quantize(content, keep_float=matrices(content)))), LiteRtModel(saved(content))
    for name, values in original.run("serving_default", inputs).items():
        np.testing.assert_array_equal(model.run("serving_default", inputs)[name], values)
