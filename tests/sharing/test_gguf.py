"""Exports as GGUF files: what is written is read again, here and by llama.cpp."""

import importlib.util
import json
import re

import numpy as np
import pytest

from tests.pretrained import decoders
from tests.sharing.exports import write_case
from tfattn import pretrained
from tfattn.errors import ConfigError, ExportError
from tfattn.models.gpt import Gpt
from tfattn.pretrained.gguf_header import read_header
from tfattn.sharing import gguf_file
from tfattn.sharing.commands import share
from tfattn.sharing.trained_export import TrainedExport

pytest.importorskip("gguf")
HAS_LLAMA_CPP = importlib.util.find_spec("xllamacpp") is not None
# The largest difference of a weight to the written one, relative to the largest weight of the tensor.
ERRORS = {"float32": 1e-7, "float16": 1e-3, "bfloat16": 1e-2, "q8_0": 1e-2}
CASES = ("llama", "untied_llama", "gpt2", "gemma2", "neox")


@pytest.mark.parametrize(
    ("case", "precision"), [*((case, "float32") for case in CASES), *(("llama", precision) for precision in ERRORS)]
)
def test_what_is_written_is_read_again(case, precision, tmp_path):
    export = TrainedExport(write_case(tmp_path / "1", case))
    folder = share(str(export.folder), "gguf", tmp_path / "out", folder=tmp_path, precision=precision)
    weights = pretrained.open(folder)
    assert weights.path.name == f"{case}-{precision}.gguf"
    model = Gpt(**weights.sizes())
    assert weights.load_into(model).unused == []
    for variable in model.weights:
        if "seed" not in variable.path:
            path = variable.path.removeprefix("gpt/")
            value = export.values.get(path, export.values["token/embeddings"])  # files of GPT-NeoX have both tables
            assert np.abs(variable.numpy() - value).max() <= ERRORS[precision] * np.abs(value).max()
    tokenization = weights.tokenization()
    assert tokenization["pattern"] == "digits" and tokenization["end_token"] == decoders.END
    assert tokenization["vocabulary"].merges == tuple(decoders.MERGES)


@pytest.mark.skipif(not HAS_LLAMA_CPP, reason="needs xllamacpp, to compare with")
@pytest.mark.parametrize("case", CASES)
def test_llama_cpp_continues_texts_in_the_same_way(case, tmp_path):
    export = write_case(tmp_path / "1", case)
    folder = share(str(export), "gguf", tmp_path / "out", folder=tmp_path, precision="float32")
    sentence = re.search(r"## Check\n\n(.*)\n", (folder / "README.md").read_text()).group(1)
    assert re.match(r"Compared with llama.cpp .*: 4 of 4 greedy texts of 16 tokens are equal\.", sentence), sentence


def test_the_chat_template_and_the_end_are_in_the_file(tmp_path):
    export = write_case(tmp_path / "1", "llama")
    folder = share(str(export), "gguf", tmp_path / "out", folder=tmp_path, precision="float16")
    metadata = read_header(next(folder.glob("*.gguf"))).metadata
    assert metadata["tokenizer.chat_template"].startswith("{% if not messages or messages[0]['role'] != 'system' %}")
    assert metadata["tokenizer.ggml.eos_token_id"] == 0 and metadata["tokenizer.ggml.add_bos_token"] is False
    assert [index for index, kind in enumerate(metadata["tokenizer.ggml.token_type"]) if kind == 3] == [
        decoders.TOKENS.index(token) for token in decoders.SPECIAL
    ]
    card = (folder / "README.md").read_text()
    assert "library_name: gguf\npipeline_tag: text-generation" in card and "llama-cli -m llama-float16.gguf" in card


@pytest.mark.parametrize("format", ["gguf", "hugging_face"])
def test_arguments_that_a_model_would_derive_may_be_given(format, tmp_path):
    given = {"query_scale": 8**-0.5, "head_dim": 8}  # as the reader of GGUF files states them
    export = write_case(tmp_path / "1", "llama", model=given)
    assert (share(str(export), format, tmp_path / "out", folder=tmp_path) / "README.md").is_file()


def test_models_that_llama_cpp_does_not_read_are_refused(tmp_path, monkeypatch):
    with pytest.raises(ExportError, match="tokenizer has no counterpart in llama.cpp.*byte_bpe.*received wordpiece"):
        share(str(write_case(tmp_path / "1", "classification")), "gguf", tmp_path / "out", folder=tmp_path)
    export = write_case(tmp_path / "2", "llama", model={"qk_norm": True, "norm": "both"})
    with pytest.raises(ExportError, match="received .*norm: both"):
        share(str(export), "gguf", tmp_path / "o", folder=tmp_path)
    with pytest.raises(ConfigError, match="--precision is for gguf: expected no such option, received q8_0"):
        share(str(tmp_path / "2"), "hugging_face", None, folder=tmp_path, precision="q8_0")
    with pytest.raises(ConfigError, match="--encoder-only is for hugging_face"):
        share(str(tmp_path / "2"), "gguf", None, folder=tmp_path, encoder_only=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]

    def missing():
        raise ConfigError("the package gguf is not installed", remedy="Run: pip install gguf")

    monkeypatch.setattr(gguf_file, "import_gguf", missing)
    with pytest.raises(ConfigError, match="gguf is not installed. Run: pip install gguf"):
        share(str(write_case(tmp_path / "3", "gpt2")), "gguf", tmp_path / "out", folder=tmp_path)


def test_exact_gelu_is_not_that_of_llama_cpp(tmp_path):
    export = write_case(tmp_path / "1", "gpt2", model={"activation": "gelu"})
    with pytest.raises(ExportError, match=r"llama.cpp.*received activation: gelu \(there gelu_appr"):
        share(str(export), "gguf", tmp_path / "out", folder=tmp_path)
    assert json.loads((export / "assets.extra/config.yaml").read_text())["model"]["activation"] == "gelu"
