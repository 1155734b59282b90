"""Encoder-decoders and image encoders of Hugging Face answer as transformers does.

The tests build the tiny models of published_weights.py from their formulas, and compare with the stored outputs of
transformers. Where transformers is installed, its outputs are computed again.
"""

import json
import subprocess
from pathlib import Path

import keras
import numpy as np
import pytest

from benchmarks import peers
from tests.pretrained.published_models import STORED, TEXTS, VISION, load, logits, search, seen, stored, write
from tests.pretrained.published_weights import MODELS, SIDES
from tfattn import pretrained
from tfattn.errors import CheckpointError


@pytest.mark.parametrize("name", TEXTS)
def test_logits(name, tmp_path):
    model, report = load(write(name, tmp_path))
    assert not report.missing and not report.unused
    expected = stored(name)["outputs"]["logits"]
    assert np.ptp(expected) > 1
    np.testing.assert_allclose(logits(model, stored(name)["config"]), expected, atol=1e-4)


@pytest.mark.parametrize("name", TEXTS)
def test_greedy_search_and_beam_search(name, tmp_path):
    weights, config, expected = write(name, tmp_path), stored(name)["config"], stored(name)["outputs"]
    model, _ = load(weights)
    texts, scores = search(weights, model, config)
    assert texts == expected["beams"]
    np.testing.assert_allclose(scores, expected["scores"], atol=1e-4)
    texts, _ = search(weights, model, config, num_beams=1)
    assert [text for (text,) in texts] == expected["greedy"]


@pytest.mark.parametrize("name", VISION)
def test_images_of_all_sizes(name, tmp_path):
    weights, config, expected = write(name, tmp_path), stored(name)["config"], stored(name)["outputs"]
    for size in SIDES:
        assert np.ptp(expected[size]) > 1
        np.testing.assert_allclose(seen(weights, size, config), expected[size], atol=1e-4, err_msg=size)


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        ("marian", "config.json", {"scale_embedding": False}, "expected scale_embedding to be True, received False"),
        ("marian", "config.json", {"decoder_ffn_dim": 24}, "expected decoder_ffn_dim to be 20, received 24"),
        ("marian", "config.json", {"normalize_before": True}, "expected normalize_before to be False"),
        ("marian", "config.json", {"activation_function": "mish"}, "expected activation_function to be one of gelu"),
        ("t5", "config.json", {"feed_forward_proj": "gated-mish"}, "expected feed_forward_proj to be one of relu"),
        ("t5", "config.json", {"tie_word_embeddings": False}, "expected scale_decoder_outputs to be True"),
        ("dinov2", "config.json", {"drop_path_rate": 0.1}, "expected drop_path_rate to be 0.0, received 0.1"),
        ("deit", "config.json", {"qkv_bias": False}, "expected qkv_bias to be True, received False"),
        ("t5", "generation_config.json", {"no_repeat_ngram_size": 3}, "expected no_repeat_ngram_size to be 0"),
        ("t5", "generation_config.json", {"early_stopping": "never"}, "expected early_stopping to be one of"),
        ("marian", "generation_config.json", {"do_sample": True}, "generation_config.json: not supported"),
    ],
)
def test_unsupported_settings_are_refused(tmp_path, name, file, change, message):
    write(name, tmp_path)
    path = tmp_path / file
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    weights = pretrained.open(tmp_path)
    with pytest.raises(CheckpointError, match=message):
        weights.sizes()
        weights.decoding()


def test_the_stored_outputs_are_those_of_transformers(tmp_path):
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    program = Path(__file__).with_name("published_reference.py")
    subprocess.run([peers.TORCH_PYTHON, program, tmp_path], check=True, capture_output=True, timeout=300)
    for name in MODELS:
        kept, fresh = (json.loads((folder / f"{name}.json").read_text()) for folder in (STORED, tmp_path))
        outputs = zip(*(keras.tree.flatten(found.pop("outputs")) for found in (kept, fresh)), strict=True)
        assert kept == fresh
        np.testing.assert_allclose(*zip(*outputs, strict=True), atol=1e-4, err_msg=name)
