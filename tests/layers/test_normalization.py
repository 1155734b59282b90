"""Layer and batch normalization: equal to the layers of Keras."""

import keras
import numpy as np
import pytest

from tfattn.layers.normalization import BatchNormalization, LayerNormalization

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


MASK = np.array([[True, True, False, False, False], [True, True, True, True, False]])
UPSTREAM = np.random.default_rng(2).normal(size=X.shape).astype("float32")


def trained(layer, x, names=("mask",), mask=None):
    """Outputs, gradients and running averages of a step of training, as float32 arrays."""
    tf = pytest.importorskip("tensorflow")
    layer.build(x.shape)
    layer.gamma.assign(np.linspace(0.5, 2.0, 8))
    x = tf.cast(tf.constant(x), layer.compute_dtype)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, training=True, **dict.fromkeys(names, mask))
        real = UPSTREAM if mask is None else np.where(mask[..., None], UPSTREAM, 0.0)
        loss = tf.reduce_sum(tf.cast(y, "float32") * real)
    found = [y, *tape.gradient(loss, [x, layer.gamma.value, layer.beta.value])]
    found += [layer.moving_mean.value, layer.moving_variance.value, layer(x)]
    return [np.array(tf.cast(value, "float32")) for value in found]


@pytest.mark.parametrize("mask", [None, MASK], ids=["without mask", "with mask"])
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_batch_normalization_equals_keras(policy, mask):
    ours = BatchNormalization(epsilon=1e-3, name="norm", dtype=policy)
    theirs = keras.layers.BatchNormalization(epsilon=1e-3, name="norm", dtype=policy)
    found, expected = trained(ours, X, ("padding_mask",), mask), trained(theirs, X, mask=mask)
    assert [v.path for v in ours.variables] == [v.path for v in theirs.variables]
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, atol=2e-5 if policy == "float32" else 0.02)


@pytest.mark.every_backend
def test_running_averages_follow_the_batches_and_replace_them_after_training():
    layer = BatchNormalization(epsilon=1e-3, momentum=0.75)
    for _ in range(60):
        outputs = layer(X, padding_mask=MASK, training=True)
    found = keras.ops.convert_to_numpy(layer(X))
    np.testing.assert_allclose(found, keras.ops.convert_to_numpy(outputs), atol=1e-4)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(layer.moving_mean), X[MASK].mean(0), rtol=1e-4)
    alone = keras.ops.convert_to_numpy(layer(X[1:]))
    np.testing.assert_allclose(alone, found[1:], atol=1e-6)


@pytest.mark.every_backend
def test_a_batch_without_real_positions_changes_no_average():
    layer = BatchNormalization(epsilon=1e-3)
    outputs = layer(X, padding_mask=np.zeros_like(MASK), training=True)
    assert np.isfinite(keras.ops.convert_to_numpy(outputs)).all()
    assert not keras.ops.convert_to_numpy(layer.moving_mean).any()
    assert (keras.ops.convert_to_numpy(layer.moving_variance) == 1).all()


@pytest.mark.every_backend
def test_a_frozen_layer_uses_and_keeps_its_averages():
    layer = BatchNormalization(epsilon=1e-3)
    layer.build(X.shape)
    layer.trainable = False
    np.testing.assert_array_equal(*(keras.ops.convert_to_numpy(layer(X, training=value)) for value in (True, False)))
    assert not keras.ops.convert_to_numpy(layer.moving_mean).any()
