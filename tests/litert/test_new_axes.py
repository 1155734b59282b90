"""Slices that add axes become operations that LiteRT has, with the same values."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.litert.converter import convert
from tfattn.litert.model import LiteRtModel

SLICES = {
    "first": lambda x: x[None],
    "middle": lambda x: x[:, None, :],
    "several": lambda x: x[:, None, None, :, :, None],
    "last": lambda x: x[..., None],
    "after an ellipsis": lambda x: x[..., None, :, None],
    "both sides of an ellipsis": lambda x: x[:, None, ..., None, 0],
    "with a part": lambda x: x[None, 1:, None, :2],
    "with an index": lambda x: x[:, None, 1, None],
    "reversed": lambda x: x[::-1, None],
    "with a size of the input": lambda x: x[None, : tf.shape(x)[0] - 1, None],
}


@pytest.mark.parametrize("name", SLICES)
def test_slices_are_equal(name, saved):
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    spec = [tf.TensorSpec([None, None, 4], tf.float32, name="x")]
    function = tf.function(lambda x: {"y": SLICES[name](x)}, input_signature=spec, autograph=False)
    model = LiteRtModel(saved(convert({"slice": function})))
    np.testing.assert_array_equal(model.run("slice", {"x": x})["y"], SLICES[name](tf.constant(x)))


def test_slices_in_loops_are_rewritten(saved):
    def grow(x):
        step = lambda i, y: (i + 1, y + x[None, :, None][0, :, 0])  # noqa: E731
        return {"y": tf.while_loop(lambda i, y: i < 3, step, [0, tf.zeros_like(x)])[1]}

    function = tf.function(grow, input_signature=[tf.TensorSpec([None], tf.float32, name="x")], autograph=False)
    model = LiteRtModel(saved(convert({"grow": function})))
    np.testing.assert_allclose(model.run("grow", {"x": np.float32([1, 2])})["y"], [3, 6])
