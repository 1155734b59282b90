"""The contract check of encoders."""

from typing import Any

import keras
import numpy as np

from tests.contracts.logits import at_once
from tfattn.models.contracts.encoder import Encoder


def check_encoder(model: Encoder, features: dict[str, np.ndarray]) -> None:
    """Check the contract of encoders.

    Args:
        model: a model without dropout.
        features: features of rows of unequal lengths, with their `padding_mask`.
    """
    outputs, mask = _outputs(model, features), features["padding_mask"]
    rows, length = mask.shape
    assert outputs["sequence_output"].shape == (rows, length, model.hidden_dim)
    assert outputs["pooled_output"].shape == (rows, model.hidden_dim)
    states = outputs.get("hidden_states", [])
    assert len(states) == (model.num_layers + 1 if model.num_layers else 0)
    assert not states or np.array_equal(states[-1], outputs["sequence_output"])

    # What stands at padded positions changes nothing at real ones, and each row alone, without padding, is the same.
    changed = {name: _changed(name, value, mask) for name, value in features.items()}
    _assert_same(_outputs(model, changed), outputs, mask)
    for row in range(rows):
        size = int(mask[row].sum())
        alone = _outputs(model, {name: value[row : row + 1, :size] for name, value in features.items()})
        np.testing.assert_allclose(alone["sequence_output"][0], outputs["sequence_output"][row, :size], atol=1e-5)
        np.testing.assert_allclose(alone["pooled_output"][0], outputs["pooled_output"][row], atol=1e-5)

    # Every weight that is trained stands once in the groups from the input upwards; names are unique.
    grouped = [variable.path for group in model.depth_groups() for variable in group]
    assert sorted(grouped) == sorted(variable.path for variable in model.trainable_variables)
    paths = [variable.path for variable in model.variables]
    assert len(set(paths)) == len(paths)


def _changed(name: str, value: np.ndarray, mask: np.ndarray) -> np.ndarray:
    if name in ("padding_mask", "segment_ids"):
        return value
    return np.where(mask.reshape(mask.shape + (1,) * (value.ndim - 2)), value, 7).astype(value.dtype)


def _outputs(model: Encoder, features: dict[str, np.ndarray]) -> dict[str, Any]:
    return keras.tree.map_structure(keras.ops.convert_to_numpy, at_once(model)(features))


def _assert_same(received: dict[str, Any], expected: dict[str, Any], mask: np.ndarray) -> None:
    np.testing.assert_allclose(received["pooled_output"], expected["pooled_output"], atol=1e-5)
    real = mask[..., None]
    for ours, theirs in zip(
        [received["sequence_output"], *received.get("hidden_states", [])],
        [expected["sequence_output"], *expected.get("hidden_states", [])],
        strict=True,
    ):
        np.testing.assert_allclose(np.where(real, ours, 0), np.where(real, theirs, 0), atol=1e-5)
