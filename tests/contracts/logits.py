"""Contract checks of all models that compute logits."""

import functools
import json
from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn.features import LOGITS


def check_configuration(model: keras.Model, features: dict) -> None:
    """Check that a copy from configuration and weights equals the model."""
    config = json.loads(json.dumps(model.get_config()))
    twin = type(model).from_config(config)
    assert json.loads(json.dumps(twin.get_config())) == config
    paths = [variable.path for variable in model.variables]
    assert len(set(paths)) == len(paths)
    assert [variable.path for variable in twin.variables] == paths
    twin.set_weights(model.get_weights())
    np.testing.assert_array_equal(logits_of(twin, features), logits_of(model, features))


def check_depth_groups(model: keras.Model) -> None:
    """Check that each trainable variable is in one group."""
    paths = [variable.path for group in model.depth_groups() for variable in group]
    assert sorted(paths) == sorted(variable.path for variable in model.trainable_variables)


def in_bfloat16(model: keras.Model, features: dict, real: np.ndarray) -> tuple[keras.Model, np.ndarray, float]:
    """Return a copy in bfloat16 with similar logits, and the logits in float32 with their scale."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = type(model).from_config(model.get_config())
    finally:
        keras.config.set_dtype_policy("float32")
    half.set_weights(model.get_weights())
    assert {v.dtype for v in half.trainable_variables} == {"float32"}
    logits = logits_of(model, features)
    scale = np.abs(logits).max()
    np.testing.assert_allclose(logits_of(half, features)[real], logits[real], atol=0.1 * scale)
    return half, logits, scale


def check_training_reaches_every_weight(model: keras.Model, features: dict) -> None:
    """Train the model one step, and check that each weight changes."""

    class Trained(keras.Model):
        def __init__(self):
            super().__init__()
            self.inner = model

        def call(self, features, training=False):
            return self.inner(features, training=training)[LOGITS]

    before = {v.path: array(v) for v in model.trainable_variables}
    trained = Trained()
    trained.compile(optimizer=keras.optimizers.SGD(1.0), loss="mse", jit_compile=False)
    trained.train_on_batch(features, np.zeros_like(logits_of(model, features)))
    for variable in model.trainable_variables:
        assert np.abs(array(variable) - before[variable.path]).max() > 0, variable.path


def compiled(function: Any) -> Any:
    """Compile a function to a graph with unknown lengths and rows, if the backend supports it."""
    if keras.backend.backend() != "tensorflow":
        return at_once(function)
    import tensorflow as tf

    of_any_shape = [tf.TensorSpec([None, None], dtype) for dtype in (tf.int32, tf.bool)]
    return tf.function(function, input_signature=of_any_shape, autograph=False)


@functools.lru_cache(maxsize=16)
def at_once(function: Any) -> Any:
    """Compile a function as a whole with JAX, which would compile each operation for each size.

    A function, or a method of a model, is compiled once for each size; weights are constants of it.
    """
    if keras.backend.backend() != "jax":
        return function
    import jax

    return jax.jit(function)


def called(layer: keras.layers.Layer, *inputs: Any, **options: Any) -> Any:
    """Call a built layer or model; with JAX, as a function that is compiled once for equal shapes."""
    if keras.backend.backend() != "jax":
        return layer(*inputs, **options)
    weights = [[v.value for v in group] for group in (layer.trainable_variables, layer.non_trainable_variables)]
    return _stateless(layer)(*weights, inputs, options)


@functools.lru_cache(maxsize=2)
def _stateless(layer: keras.layers.Layer) -> Any:
    return at_once(lambda *weights_and_inputs: _outputs(layer, *weights_and_inputs))


def _outputs(layer: keras.layers.Layer, trained: list, others: list, inputs: tuple, options: dict) -> Any:
    return layer.stateless_call(trained, others, *inputs, **options)[0]


def logits_of(model: keras.Model, features: dict) -> np.ndarray:
    """Return the logits of a model in float32."""
    return array(ops.cast(called(model, features)[LOGITS], "float32"))


def array(tensor: Any) -> np.ndarray:
    """Convert a tensor of any backend to an array."""
    return keras.ops.convert_to_numpy(tensor)
