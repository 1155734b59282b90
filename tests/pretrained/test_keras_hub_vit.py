"""KerasHub presets of Vision Transformers: equality with KerasHub's own model, pixels, refusals."""

import json

import keras
import numpy as np
import pytest

from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.vit import Vit

SIZES = {"patch_size": 8, "num_layers": 2, "num_heads": 2, "hidden_dim": 16, "mlp_dim": 20}


@pytest.fixture
def backbone():
    backbone = pytest.importorskip("keras_hub").models.ViTBackbone(image_shape=(24, 32, 3), **SIZES)
    draw = np.random.default_rng(0)
    for weight in backbone.trainable_weights:
        weight.assign(draw.normal(scale=0.3, size=weight.shape) + weight.path.endswith("gamma"))
    return backbone


def test_equals_keras_hub(backbone, tmp_path):
    backbone.save_to_preset(tmp_path)
    (tmp_path / "image_converter.json").write_text(json.dumps({"config": {"scale": 1 / 51, "offset": [-1, -2, -3]}}))
    weights = pretrained.open(tmp_path)
    model = Vit(**weights.sizes())
    report = weights.load_into(model)
    assert (weights.model, len(report.used), report.unused, report.missing) == ("vit", 38, [], [])
    images = np.random.default_rng(1).random((2, 24, 32, 3)).astype("float32")
    expected = keras.ops.convert_to_numpy(backbone(images * 255 / 51 - [1, 2, 3]))
    answer = keras.ops.convert_to_numpy(model({"images": images})["sequence_output"])
    np.testing.assert_allclose(answer, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"use_class_token": False}, "expected use_class_token to be True, received False"),
        ({"patch_size": [8, 4]}, r"square patches, received image_shape \[24, 32, 3\], patch_size \[8, 4\]"),
    ],
)
def test_unsupported_settings_are_refused(backbone, tmp_path, changes, message):
    backbone.save_to_preset(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["config"] |= changes
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(tmp_path).sizes()
