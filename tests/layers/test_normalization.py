"""Layer normalization: equal to the layer of Keras."""

import keras
import numpy as np
import pytest

from tfattn.layers.normalization import LayerNormalization

X = np.random.default_rng(0).normal(3.0, 2.0, size=(2, 5, 8)).astype("float32")


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_equals_keras(policy):
    ours = LayerNormalization(epsilon=1e-3, name="norm", dtype=policy)
    theirs = keras.layers.LayerNormalization(epsilon=1e-3, name="norm", dtype=policy)
    for layer in (ours, theirs):
        layer.build(X.shape)
    assert [v.path for v in ours.variables] == [v.path for v in theirs.variables]
    weights = np.random.default_rng(1).normal(size=(2, 8)).astype("float32")
    for layer in (ours, theirs):
        layer.set_weights(list(weights))
    answers = [layer(keras.ops.cast(X, layer.compute_dtype)) for layer in (ours, theirs)]
    assert answers[0].dtype == answers[1].dtype
    answer, expected = (keras.ops.convert_to_numpy(keras.ops.cast(x, "float32")) for x in answers)
    np.testing.assert_allclose(answer, expected, atol=1e-6 if policy == "float32" else 0.02)
