"""KerasHub presets, and equality with KerasHub's own model."""

import h5py
import keras
import numpy as np
import pytest

from tfattn import pretrained
from tfattn.errors import CheckpointError, ConfigError
from tfattn.models.bert import Bert
from tfattn.tasks.masked_lm import MaskedLm

SIZES = {"vocabulary_size": 12, "hidden_dim": 8, "num_layers": 3, "num_heads": 2, "intermediate_dim": 20}


@pytest.fixture
def keras_hub():
    """The package, loaded where it is needed alone: that takes a second."""
    return pytest.importorskip("keras_hub")


@pytest.fixture
def backbone(keras_hub):
    backbone = keras_hub.models.BertBackbone(**SIZES, max_sequence_length=16)
    draw = np.random.default_rng(0)
    for weight in backbone.trainable_weights:
        weight.assign(draw.normal(scale=0.4, size=weight.shape) + weight.path.endswith("gamma"))
    return backbone


@pytest.fixture
def preset(request, keras_hub, backbone, folder):
    backbone.save_to_preset(folder, max_shard_size=getattr(request, "param", 10))  # in GB
    vocabulary = (folder / "vocab.txt").read_text().split()
    keras_hub.models.BertTokenizer(vocabulary=vocabulary, lowercase=True).save_to_preset(folder)
    (folder / "vocab.txt").unlink()
    return folder


@pytest.mark.parametrize("preset", [10, 3e-6], indirect=True, ids=["one file", "shards"])
def test_equals_keras_hub(preset, backbone, features):
    weights = pretrained.open(preset)
    bert = Bert(**weights.sizes())
    report = weights.load_into(bert)
    assert (len(report.used), report.unused, report.missing) == (55, [], [])
    expected = backbone(features)
    answer = bert(features)
    real = features["padding_mask"].astype(bool)
    for name in ("sequence_output", "pooled_output"):
        ours, theirs = (keras.ops.convert_to_numpy(value[name]) for value in (answer, expected))
        rows = real if name == "sequence_output" else slice(None)
        np.testing.assert_allclose(ours[rows], theirs[rows], atol=1e-5)


def test_masked_lm_equals_keras_hub(keras_hub, preset, backbone, features):
    weights = pretrained.open(preset)
    bert = Bert(**weights.sizes())
    bert.head_activation, bert.layer_norm_epsilon = "gelu", 1e-5  # of the head, KerasHub has settings of its own
    ours, theirs = MaskedLm(model=bert), keras_hub.models.BertMaskedLM(backbone, preprocessor=None)
    assert weights.load_into(bert, ours.optional_layers).missing == []
    head, draw = theirs.masked_lm_head, np.random.default_rng(1)
    dense, norm = head._intermediate_dense, head._intermediate_layer_norm
    for one, other in zip(ours.masked_lm_head.weights, (head._bias, *dense.weights, *norm.weights), strict=True):
        assert one.shape == other.shape
        value = draw.normal(scale=0.5, size=one.shape)
        one.assign(value)
        other.assign(value)
    positions = np.tile(np.arange(6, dtype="int32"), (2, 1))
    answer = ours({**features, "masked_lm_positions": positions})["masked_lm_logits"]
    expected = theirs({**features, "mask_positions": positions})
    real = features["padding_mask"].astype(bool)
    answer, expected = (keras.ops.convert_to_numpy(value)[real] for value in (answer, expected))
    np.testing.assert_allclose(answer, expected, atol=1e-4)


def test_vocabulary_and_case(preset):
    weights = pretrained.open(preset)
    assert weights.vocabulary.read_text().split()[:3] == ["[PAD]", "[UNK]", "[CLS]"]
    assert weights.lower_case is True


def test_missing_tensor(preset):
    with h5py.File(preset / "model.weights.h5", "a") as file:
        del file["layers/dense/vars/1"]
    weights = pretrained.open(preset)
    with pytest.raises(CheckpointError, match="1 of 55 tensors are missing: expected layers/dense/vars/1"):
        weights.load_into(Bert(**weights.sizes()))


@pytest.mark.parametrize("preset", [3e-6], indirect=True)
def test_shards_are_files_of_the_folder(preset):
    weights = pretrained.open(preset)
    assert len(weights.digests) > 1 and all(name.startswith("model_0") for name in weights.digests)
    bert = Bert(**weights.sizes())
    index = (preset / "model.weights.json").read_text()
    shard = sorted(preset.glob("model_*.h5"))[-1]
    shard.unlink()
    with pytest.raises(CheckpointError, match=f"a file is missing: expected {shard.name}"):
        weights.load_into(bert)
    (preset / "model.weights.json").write_text(index.replace(shard.name, "../other/a.weights.h5"))
    with pytest.raises(ConfigError, match=r"model.weights.json: the index names files .* \.\./other/a.weights.h5"):
        weights.load_into(bert)


def test_external_datasets_are_treated_as_missing(preset, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(32))
    with h5py.File(preset / "model.weights.h5", "a") as file:
        del file["layers/dense/vars/1"]
        file.create_dataset("layers/dense/vars/1", (8,), "float32", external=[(str(tmp_path / "secret"), 0, 32)])
    weights = pretrained.open(preset)
    with pytest.raises(CheckpointError, match="1 of 55 tensors are missing"):
        weights.load_into(Bert(**weights.sizes()))


def test_wrong_shape(preset):
    weights = pretrained.open(preset)
    bert = Bert(**{**weights.sizes(), "intermediate_dim": 24})
    message = r"9 tensors have another shape .* \(8, 20\) for block_0/feed_forward/intermediate/kernel \(8, 24\)"
    with pytest.raises(CheckpointError, match=message):
        weights.load_into(bert)


def test_corrupt_weights(preset):
    weights = pretrained.open(preset)
    bert = Bert(**weights.sizes())
    path = preset / "model.weights.h5"
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"no HDF5", b""):
        path.write_bytes(broken)
        with pytest.raises(CheckpointError, match="model.weights.h5: cannot be read as HDF5"):
            weights.load_into(bert)
