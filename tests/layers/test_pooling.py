"""SegmentPooler: the maxima of each text, and the comparison of two texts."""

import keras
import numpy as np
import pytest

from tests.contracts.layer import check_layer
from tfattn.layers.pooling import SegmentPooler

X = np.random.default_rng(0).normal(size=(3, 5, 8)).astype("float32")
REAL = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0]], bool)
SEGMENTS = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]], "int32")


@pytest.mark.every_backend
@pytest.mark.parametrize("segments", [None, SEGMENTS], ids=["one text", "two texts"])
def test_contract(segments, tmp_path):
    inputs = [X, REAL] if segments is None else [X, REAL, segments]
    check_layer(SegmentPooler, {}, *inputs, output_shape=(3, 8), folder=tmp_path)


def test_the_pooler_compares_segments():
    """A map that is one part of the four after the other shows each part."""
    layer = SegmentPooler()
    layer(X)
    layer.dense.bias.assign(np.zeros(8))
    u = [X[0, :2].max(0), X[1, :1].max(0), X[2, :2].max(0)]
    v = [X[0, 2:].max(0), X[1, 1:3].max(0), np.zeros(8)]
    parts = [(a, b, np.abs(a - b), a * b) for a, b in zip(u, v, strict=True)]
    for number in range(4):
        kernel = np.zeros((4, 8, 8))
        kernel[number] = np.eye(8)
        layer.dense.kernel.assign(kernel.reshape(32, 8))
        found = keras.ops.convert_to_numpy(layer(X, REAL, SEGMENTS))
        np.testing.assert_allclose(found, np.tanh([row[number] for row in parts]), atol=1e-6)


def test_padded_positions_change_nothing():
    layer, other = SegmentPooler(), np.where(REAL[..., None], X, 99.0)
    np.testing.assert_array_equal(layer(X, REAL, SEGMENTS), layer(other, REAL, SEGMENTS))
