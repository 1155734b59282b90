"""What every layer keeps, whatever it computes."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np


def check_layer(
    layer_class: type, arguments: dict[str, Any], *inputs: np.ndarray, output_shape: tuple, folder: Path, **call: Any
) -> None:
    """Holds a layer against the contract of all layers.

    Args:
        layer_class: the class.
        arguments: its constructor's arguments; dropout, if any, must be 0, so that answers can be compared.
        *inputs: what it is called with; batch first.
        output_shape: the shape of its (first) output.
        folder: an empty folder to write weights to.
        **call: further arguments of the call.
    """
    layer = layer_class(**arguments, name="layer")
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
    _call(twin, inputs, call)
    paths = [variable.path for variable in layer.variables]
    assert len(set(paths)) == len(paths)
    assert [variable.path for variable in twin.variables] == paths
    assert all(path.startswith("layer/") for path in paths)

    # Weights that were saved and loaded into it give the same answer.
    np.savez(folder / "weights.npz", **{v.path: keras.ops.convert_to_numpy(v) for v in layer.variables})
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
    answer = half(*inputs, **call)
    assert keras.backend.standardize_dtype(answer.dtype) == "bfloat16"
    assert {v.dtype for v in half.trainable_variables} <= {"float32"}
    for variable in half.variables:
        variable.assign(saved[variable.path])
    np.testing.assert_allclose(_call(half, inputs, call), output, atol=0.05 * np.abs(output).max())

    # One step of training moves every weight.
    before = {v.path: keras.ops.convert_to_numpy(v) for v in layer.trainable_variables}
    _train_one_step(layer, inputs, call, output_shape)
    for variable in layer.trainable_variables:
        assert np.abs(keras.ops.convert_to_numpy(variable) - before[variable.path]).max() > 0, variable.path


def _call(layer: keras.layers.Layer, inputs: Any, call: dict[str, Any]) -> np.ndarray:
    return keras.ops.convert_to_numpy(keras.ops.cast(layer(*inputs, **call), "float32"))


def _train_one_step(layer: keras.layers.Layer, inputs: Any, call: dict[str, Any], output_shape: tuple) -> None:
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.layer = layer

        def call(self, values):
            return self.layer(*values, **call)

    model = Model()
    model.compile(optimizer=keras.optimizers.SGD(1.0), loss="mse", jit_compile=False)
    model.train_on_batch(tuple(inputs), np.random.default_rng(0).normal(size=output_shape).astype("float32"))
