"""The contract check of layers."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np

from tests.contracts.logits import array, called


def check_layer(
    layer_class: type, arguments: dict[str, Any], *inputs: np.ndarray, output_shape: tuple, folder: Path, **call: Any
) -> None:
    """Check the contract of layers.

    Args:
        layer_class: the class.
        arguments: the arguments of the constructor, without dropout.
        *inputs: the inputs of a call, batch first.
        output_shape: the shape of the first output.
        folder: an empty folder for weights.
        **call: further arguments of the call.
    """
    nodes = [keras.Input(value.shape[1:], dtype=str(value.dtype)) for value in inputs]
    layer = layer_class(**arguments, name="layer")
    model = keras.Model(nodes, layer(*nodes, **call))
    output = _call(layer, inputs, call)

    # Shapes and types.
    assert output.shape == output_shape
    assert output.dtype == "float32"
    symbols = [keras.KerasTensor(value.shape, str(value.dtype)) for value in inputs]
    assert layer.compute_output_spec(*symbols, **call).shape == output_shape

    # A configuration that JSON can hold makes an equal layer; names of variables are unique and the same each time.
    config = json.loads(json.dumps(layer.get_config()))
    twin = layer_class.from_config(config)
    assert json.loads(json.dumps(twin.get_config())) == config
    twin(*nodes, **call)
    paths = [variable.path for variable in layer.variables]
    assert len(set(paths)) == len(paths)
    assert [variable.path for variable in twin.variables] == paths
    assert all(path.startswith("layer/") for path in paths)

    # Keras saves it in a model, and loads it in its safe mode.
    model.save(folder / "model.keras")
    own = {} if layer_class.__module__.startswith("tfattn.") else {layer_class.__name__: layer_class}
    loaded = keras.saving.load_model(folder / "model.keras", custom_objects=own, safe_mode=True)
    np.testing.assert_array_equal(_call(loaded, [list(inputs)], {}), output)

    # Weights that were saved and loaded into it give the same answer.
    np.savez(folder / "weights.npz", **{v.path: array(v) for v in layer.variables})
    saved = np.load(folder / "weights.npz")
    for variable in twin.variables:
        variable.assign(saved[variable.path])
    np.testing.assert_array_equal(_call(twin, inputs, call), output)

    # A row's answer does not depend on the other rows.
    for row in range(len(inputs[0])):
        alone = _call(layer, [value[row : row + 1] for value in inputs], call)
        np.testing.assert_allclose(alone[0], output[row], rtol=1e-5, atol=1e-5)

    # In bfloat16 the weights stay float32, and the answer is about the same.
    half = layer_class(**arguments, name="layer", dtype="mixed_bfloat16")
    assert half(*nodes, **call).dtype == "bfloat16"
    assert {v.dtype for v in half.trainable_variables} <= {"float32"}
    for variable in half.variables:
        variable.assign(saved[variable.path])
    np.testing.assert_allclose(_call(half, inputs, call), output, atol=0.05 * np.abs(output).max())

    # One step of training moves every weight.
    before = {v.path: array(v) for v in layer.trainable_variables}
    _train_one_step(layer, inputs, call, output_shape)
    for variable in layer.trainable_variables:
        assert np.abs(array(variable) - before[variable.path]).max() > 0, variable.path


def _call(layer: keras.layers.Layer, inputs: Any, call: dict[str, Any]) -> np.ndarray:
    return array(called(layer, *inputs, **call)).astype("float32")


def _train_one_step(layer: keras.layers.Layer, inputs: Any, call: dict[str, Any], output_shape: tuple) -> None:
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def call(self, values):
            return self.layer(*values, **call)

    model = Model()
    # Without it, JAX would compile every operation of the step by itself.
    compiled = keras.backend.backend() == "jax"
    model.compile(optimizer=keras.optimizers.SGD(1.0), loss="mse", jit_compile=compiled)
    model.train_on_batch(tuple(inputs), np.random.default_rng(0).normal(size=output_shape).astype("float32"))
