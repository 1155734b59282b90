"""The contract check of image encoders."""

import json
from collections.abc import Callable
from pathlib import Path

import keras
import numpy as np
import pytest

from tfattn.errors import ConfigError
from tfattn.models.contracts.image_encoder import ImageEncoder

OUTPUTS = ("sequence_output", "pooled_output")


def check_image_encoder(make: Callable[[], ImageEncoder], *, folder: Path) -> None:
    """Check the contract of image encoders.

    Args:
        make: returns a new model with other weights, without dropout.
        folder: an empty folder for weights.
    """
    model = make()
    height, width = [model.image_size] * 2 if isinstance(model.image_size, int) else model.image_size
    images = np.random.default_rng(0).random((3, height, width, 3)).astype("float32")
    outputs = run(model, images)

    # Shapes: a token of each place of the grid, behind those that stand for none.
    rows, columns = model.patch_grid
    length = model.num_prefix_tokens + rows * columns
    assert outputs["sequence_output"].shape == (3, length, model.hidden_dim)
    assert outputs["pooled_output"].shape == (3, model.hidden_dim)
    states = model({"images": images})["hidden_states"]
    assert len(states) == model.num_layers + 1
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(states[-1]), outputs["sequence_output"])

    # One vector of an image is a mean of those of its tokens, weighted as it tells.
    fractions = keras.ops.convert_to_numpy(model.pooled_fractions(outputs))
    np.testing.assert_allclose(fractions.sum(axis=1), np.ones(3), rtol=1e-5)
    means = np.einsum("bt,btd->bd", fractions, outputs["sequence_output"])
    np.testing.assert_allclose(means, outputs["pooled_output"], atol=1e-5)

    # What is read alone is what stands beside the rest.
    alone = model({"images": images}, only_pooled=True)
    assert list(alone) == ["pooled_output"]
    np.testing.assert_allclose(keras.ops.convert_to_numpy(alone["pooled_output"]), outputs["pooled_output"], atol=1e-5)

    # An image's outputs do not depend on the other images.
    for row in range(3):
        for name, values in run(model, images[row : row + 1]).items():
            np.testing.assert_allclose(values[0], outputs[name][row], rtol=1e-5, atol=1e-5)

    # A configuration that JSON can hold makes an equal model; names of variables are unique and the same each time.
    twin = type(model).from_config(json.loads(json.dumps(model.get_config())))
    paths = [variable.path for variable in model.variables]
    assert [variable.path for variable in twin.variables] == paths and len(set(paths)) == len(paths)
    assert all(path.startswith(f"{model.name}/") for path in paths)

    # Weights that were saved and loaded into it give the same answer.
    np.savez(folder / "weights.npz", **{v.path: keras.ops.convert_to_numpy(v) for v in model.variables})
    saved = np.load(folder / "weights.npz")
    for variable in twin.variables:
        variable.assign(saved[variable.path])
    for name, values in run(twin, images).items():
        np.testing.assert_array_equal(values, outputs[name])

    # Every weight that is trained stands once in the groups from the input upwards.
    grouped = [variable.path for group in model.depth_groups() for variable in group]
    assert sorted(grouped) == sorted(variable.path for variable in model.trainable_variables)
    assert len(model.depth_groups()) == model.num_layers + 2

    # In bfloat16 the weights stay float32, and the answer is about the same.
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = make()
    finally:
        keras.config.set_dtype_policy("float32")
    assert {variable.dtype for variable in half.trainable_variables} == {"float32"}
    for variable in half.variables:
        variable.assign(saved[variable.path])
    assert keras.backend.standardize_dtype(half({"images": images})["sequence_output"].dtype) == "bfloat16"
    for name, values in run(half, images).items():
        np.testing.assert_allclose(values, outputs[name], atol=0.05 * np.abs(outputs[name]).max())

    # Images of another size are refused, by both sizes.
    with pytest.raises(ConfigError, match=f"{height + 1} x {width} x 3.*{height} x {width} x 3"):
        model({"images": np.ones((1, height + 1, width, 3), "float32")})

    # Training moves every weight and lowers the loss.
    losses = _train(model, images, steps=8)
    assert losses[-1] < 0.7 * losses[0]
    for variable in model.trainable_variables:
        moved = np.abs(keras.ops.convert_to_numpy(variable) - saved[variable.path]).max()
        assert moved > 0, variable.path


def run(model: ImageEncoder, images: np.ndarray) -> dict[str, np.ndarray]:
    """Return the outputs of a model in float32."""
    outputs = model({"images": images})
    return {name: keras.ops.convert_to_numpy(keras.ops.cast(outputs[name], "float32")) for name in OUTPUTS}


def _train(encoder: ImageEncoder, images: np.ndarray, steps: int) -> list[float]:
    class Pooled(keras.Model):
        def __init__(self):
            super().__init__(autocast=False)
            self.encoder = encoder

        def call(self, images, training=False):
            return self.encoder({"images": images}, training=training, only_pooled=True)["pooled_output"]

    model = Pooled()
    model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse", jit_compile=False)
    targets = np.random.default_rng(1).normal(size=(len(images), encoder.hidden_dim)).astype("float32")
    return [float(model.train_on_batch(images, targets)) for _ in range(steps)]
