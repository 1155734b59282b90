"""Published encoders predict masked tokens as transformers does, and are exported for the command line."""

import json

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import peers
from tests.pretrained import fill_mask_cases
from tests.pretrained.fill_mask_cases import CASES, STORED
from tfattn import pretrained, published
from tfattn.errors import ConfigError
from tfattn.export.fill_mask import FillMask
from tfattn.trained.ensemble import TrainedEnsemble


@pytest.mark.parametrize("name", CASES)
def test_predictions_equal_transformers(tmp_path, name):
    case, expected = CASES[name], json.loads(STORED.read_text())[name]
    fill_mask_cases.write(case, tmp_path)
    if peers.has_transformers():
        fresh = fill_mask_cases.predicted(case, tmp_path)
        assert [one["token"] for one in fresh] == [one["token"] for one in expected]
    served = FillMask(TrainedEnsemble([published.build_masked_lm(pretrained.open(tmp_path))]))
    found = served.signatures()["serving_default"](tf.constant([case.text]))
    assert found["token"].numpy()[0].tolist() == [one["token"] for one in expected]
    np.testing.assert_allclose(found["score"].numpy()[0], [one["score"] for one in expected], atol=1e-5)
    assert [text.decode() for text in found["token_str"].numpy()[0]] == [one["token_str"] for one in expected]


def test_the_command_exports_a_folder_once(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bert-base-chinese").mkdir()
    case, expected = CASES["chinese"], json.loads(STORED.read_text())["chinese"]
    fill_mask_cases.write(case, tmp_path / "bert-base-chinese")
    for attempt in range(2):
        answer = command("fill-mask", "bert-base-chinese", case.text, "--top-k", "2")
        assert answer.status == 0, answer.errors
        assert ("is exported to" in answer.errors) == (attempt == 0)
        for line, one in zip(answer.output.splitlines(), expected, strict=False):
            score, token, sequence = line.split(maxsplit=2)
            assert (token, score) == (one["token_str"], f"{one['score']:.4f}")
            assert sequence == case.text.replace("[MASK]", one["token_str"])
    assert (tmp_path / "saved_models/bert-base-chinese").is_dir()


def test_weights_without_the_head_are_refused(tmp_path):
    fill_mask_cases.write(CASES["chinese"], tmp_path)
    source = pretrained.open(tmp_path)
    monkey = {name: shape for name, shape in source.stored_shapes().items() if "predictions" not in name}
    source.stored_shapes = lambda: monkey
    message = "no head for masked language modeling: expected cls.predictions.bias, .*task: {name: masked_lm}"
    with pytest.raises(ConfigError, match=message):
        published.build_masked_lm(source)


def test_a_decoder_is_no_masked_language_model(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    with pytest.raises(ConfigError, match=r"not a masked language model.*hf://google-bert.*received gpt"):
        published.export(tmp_path, folder=tmp_path / "exports", task="masked_lm")
