"""Indexing: entries of rows at columns of any size."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.ops.cross_entropy import smoothed_cross_entropy
from tfattn.ops.indexing import cells, pick

pytestmark = pytest.mark.every_backend

DRAW = np.random.default_rng(0)
# The inputs that number the entries of a tensor.
INDICES = {"GatherV2": 1, "TensorScatterUpdate": 1, "ScatterNd": 0}


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 4)])
def test_picks_from_each_row(shape):
    x, columns = DRAW.normal(size=shape), DRAW.integers(0, 5, size=(3, 2)).astype("int32")
    picked = keras.ops.convert_to_numpy(pick(keras.ops.convert_to_tensor(x), columns))
    for row in range(3):
        np.testing.assert_array_equal(picked[row], x.astype(picked.dtype)[row, columns[row]])


def test_gather_takes_one_entry_per_row():
    x = keras.ops.scatter_update(keras.ops.zeros((3, 4)), cells(np.array([2, 0, 3], "int32")), keras.ops.ones(3))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(x), np.eye(4)[[2, 0, 3]])


def loss_and_gradient(logits, columns):
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = smoothed_cross_entropy(logits, columns, smoothing=0.1)
    return loss, tape.gradient(loss, logits)


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="reads TensorFlow's graph")
@pytest.mark.parametrize("function", [lambda x, columns: pick(x, columns[:, None]), loss_and_gradient])
def test_indices_do_not_overflow_for_large_batches(function):
    tokens, words = 64 * 1024, 50_304  # int32 counts to 42,690 x 50,304
    graph = tf.function(function).get_concrete_function(
        tf.TensorSpec((tokens, words)), tf.TensorSpec((tokens,), tf.int32)
    )
    found = [op.inputs[INDICES[op.type]] for op in graph.graph.get_operations() if op.type in INDICES]
    large = [index for index in found if index.shape.rank and index.shape[0] == tokens]
    assert large
    assert {index.dtype for index in large} == {tf.int64}
