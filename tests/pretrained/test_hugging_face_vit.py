"""Vision Transformer folders of Hugging Face: names, pixels, refusals, and equality with transformers."""

import json
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from benchmarks import peers
from tfattn import pretrained
from tfattn.errors import CheckpointError
from tfattn.models.vit import Vit

CONFIG = {
    "model_type": "vit",
    "image_size": 24,
    "patch_size": 8,
    "num_channels": 3,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 20,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.2,
    "initializer_range": 0.02,
    "layer_norm_eps": 1e-12,
    "qkv_bias": True,
    "id2label": {"0": "cat", "1": "dog", "2": "owl"},
    "label2id": {"cat": 0, "dog": 1, "owl": 2},
}
PIXELS = {"do_rescale": True, "rescale_factor": 1 / 255, "image_mean": [0.4, 0.5, 0.6], "image_std": [0.2, 0.3, 0.4]}
SIZES = {"image_size": 24, "patch_size": 8, "hidden_dim": 16, "num_layers": 2, "num_heads": 2, "intermediate_dim": 20}


@pytest.fixture
def tiny() -> Vit:
    """Every weight of it differs from every other, norms and biases too."""
    model, draw = Vit(**SIZES), np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(draw.normal(scale=0.3, size=weight.shape) + weight.path.endswith("gamma"))
    return model


def torch_names(model: Vit, prefix: str = "") -> dict[str, np.ndarray]:
    """Its weights under Hugging Face's names, each spelled out, linear layers as torch lays them out."""
    value = {v.path.removeprefix("vit/"): keras.ops.convert_to_numpy(v) for v in model.weights}
    names = {
        "embeddings.cls_token": value["class_token/vector"][None, None],
        "embeddings.position_embeddings": value["positions/position/embeddings"][None],
        "embeddings.patch_embeddings.projection.weight": value["tokens/projection/kernel"]
        .reshape(8, 8, 3, 16)
        .transpose(3, 2, 0, 1),
        "embeddings.patch_embeddings.projection.bias": value["tokens/projection/bias"],
        "layernorm.weight": value["norm/gamma"],
        "layernorm.bias": value["norm/beta"],
    }
    for index in range(2):
        ours, theirs = f"block_{index}", f"encoder.layer.{index}"
        for kind, own in (("kernel", "weight"), ("bias", "bias")):
            parts = np.split(value[f"{ours}/attention/qkv/{kind}"], 3, axis=-1)
            for name, part in zip(("query", "key", "value"), parts, strict=True):
                names[f"{theirs}.attention.attention.{name}.{own}"] = part.T
            names[f"{theirs}.attention.output.dense.{own}"] = value[f"{ours}/attention/output/{kind}"].T
            names[f"{theirs}.intermediate.dense.{own}"] = value[f"{ours}/feed_forward/intermediate/{kind}"].T
            names[f"{theirs}.output.dense.{own}"] = value[f"{ours}/feed_forward/output/{kind}"].T
        for kind, own in (("gamma", "weight"), ("beta", "bias")):
            names[f"{theirs}.layernorm_before.{own}"] = value[f"{ours}/attention_norm/{kind}"]
            names[f"{theirs}.layernorm_after.{own}"] = value[f"{ours}/feed_forward_norm/{kind}"]
    return {prefix + name: np.ascontiguousarray(array) for name, array in names.items()}


def write(folder: Path, tensors: dict[str, np.ndarray], **changes) -> Path:
    (folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))
    save_file(tensors, folder / "model.safetensors")
    return folder


@pytest.mark.parametrize("prefix", ["", "vit."], ids=["bare", "with a head"])
def test_import(tmp_path, tiny, same_weights, prefix):
    tensors = torch_names(tiny, prefix)
    extra = {"classifier.weight": np.ones((3, 16), "float32")} if prefix else {}
    weights = pretrained.open(write(tmp_path, tensors | extra))
    loaded = Vit(**weights.sizes())
    report = weights.load_into(loaded)
    same_weights(loaded, tiny)
    assert (weights.model, weights.preprocessor, weights.tokenization()) == ("vit", "images", {})
    assert (report.unused, report.missing, len(report.used)) == (list(extra), [], len(tensors))
    assert (loaded.dropout, loaded.attention_dropout, loaded.layer_norm_epsilon) == (0.1, 0.2, 1e-12)
    assert "pixel_mean" not in weights.sizes()


def test_pixel_normalization_is_read(tmp_path, tiny):
    folder = write(tmp_path, torch_names(tiny))
    (folder / "preprocessor_config.json").write_text(json.dumps(PIXELS))
    model = Vit(**pretrained.open(folder).sizes())
    assert (model.pixel_mean, model.pixel_deviation) == ([0.4, 0.5, 0.6], [0.2, 0.3, 0.4])
    (folder / "preprocessor_config.json").write_text(json.dumps({**PIXELS, "do_normalize": False}))
    model = Vit(**pretrained.open(folder).sizes())
    assert (model.pixel_mean, model.pixel_deviation) == ([0.0] * 3, [1.0] * 3)
    (folder / "preprocessor_config.json").write_text(json.dumps({**PIXELS, "rescale_factor": 1.0}))
    with pytest.raises(CheckpointError, match="preprocessor_config.json: .*rescale_factor to be 0.0039.*received 1.0"):
        pretrained.open(folder).sizes()


def test_equals_transformers_also_for_larger_images(tmp_path):
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(PIXELS))
    draw = np.random.default_rng(0)
    images = {"images": draw.random((2, 24, 24, 3)), "larger": draw.random((2, 40, 40, 3))}
    scaled = {name: (x - PIXELS["image_mean"]) / PIXELS["image_std"] for name, x in images.items()}
    np.savez(tmp_path / "inputs.npz", **{name: x.transpose(0, 3, 1, 2).astype("float32") for name, x in scaled.items()})
    program = Path(__file__).parent / "vit_reference.py"
    command = [peers.TORCH_PYTHON, program, tmp_path, tmp_path / "inputs.npz", tmp_path / "outputs.npz"]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    expected, weights = np.load(tmp_path / "outputs.npz"), pretrained.open(tmp_path)
    head = load_file(tmp_path / "model.safetensors")
    for name, size in {"images": 24, "larger": 40}.items():
        model = Vit(**{**weights.sizes(), "image_size": size})
        assert weights.load_into(model).unused == ["classifier.bias", "classifier.weight"]
        outputs = {
            key: keras.ops.convert_to_numpy(value)
            for key, value in model({"images": images[name].astype("float32")}).items()
            if key != "hidden_states"
        }
        logits = outputs["pooled_output"] @ head["classifier.weight"].T + head["classifier.bias"]
        assert np.ptp(expected[name]) > 0.5
        np.testing.assert_allclose(logits, expected[name], atol=1e-4)
        if name == "images":
            np.testing.assert_allclose(outputs["sequence_output"], expected["last_hidden_state"], atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"qkv_bias": False}, "expected qkv_bias to be True, received False"),
        ({"num_channels": 1}, "expected num_channels to be 3, received 1"),
        ({"hidden_act": "silu"}, "expected hidden_act to be one of gelu"),
        ({"patch_size": [8, 4]}, "expected patch_size to be a side in pixels, received"),
        ({"image_size": "24"}, "expected image_size to be a side in pixels, or two of them, received 24"),
    ],
)
def test_unsupported_settings_are_refused(tmp_path, tiny, changes, message):
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(write(tmp_path, torch_names(tiny), **changes)).sizes()


def test_missing_and_mismatched_tensors_leave_the_model_unchanged(tmp_path, tiny, same_weights):
    tensors = torch_names(tiny)
    del tensors["layernorm.bias"]
    weights = pretrained.open(write(tmp_path, tensors))
    model = Vit(**SIZES)
    before = Vit(**SIZES)
    before.set_weights(model.get_weights())
    with pytest.raises(CheckpointError, match="1 of 38 tensors are missing: expected layernorm.bias.*whole `vit`"):
        weights.load_into(model)
    weights = pretrained.open(write(tmp_path, torch_names(tiny), image_size=32))
    with pytest.raises(CheckpointError, match=r"another shape .*embeddings.position_embeddings \(10, 16\)"):
        weights.load_into(Vit(**weights.sizes()))
    same_weights(model, before)
