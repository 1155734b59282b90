"""Tokens of Marian and T5 folders: the same ids and texts as transformers; refusals."""

import json
import subprocess
from pathlib import Path

import pytest
import tensorflow as tf

from benchmarks import peers
from tests.pretrained.published_weights import decoded
from tfattn import pretrained
from tfattn.errors import CheckpointError, DataError
from tfattn.preprocessing.published_pieces import PublishedPieces

STORED = Path(__file__).with_name("published") / "pieces.json"
IDS = {"decoder_start_token_id": 0, "eos_token_id": 1, "pad_token_id": 0}


def tokenizers(folder, found):
    """Write the folder of a Marian, and two folders of a T5; return their vocabularies by name."""
    marian, t5 = found["marian"], found["t5"]
    padding = len(marian["vocabulary"]) - 1
    config = {"model_type": "marian", "vocab_size": padding + 1, "decoder_start_token_id": padding, "eos_token_id": 0}
    write(folder / "marian", config, marian["files"], {"vocab.json": marian["vocabulary"]})
    config = {"model_type": "t5", "vocab_size": 256, **IDS}
    write(folder / "t5", config, t5["files"])
    write(folder / "converted", config, {}, {"tokenizer.json": t5["converted"]})
    names = ("marian", "t5", "converted")
    return {name: pretrained.open(folder / name).tokenization()["vocabularies"] for name in names}


def write(folder, config, models, texts=None):
    folder.mkdir()
    for name, content in {"config.json": config, **(texts or {})}.items():
        (folder / name).write_text(json.dumps(content))
    for name, content in models.items():
        (folder / name).write_bytes(decoded(content))


def check_equal(found, folder):
    for name, vocabularies in tokenizers(folder, found).items():
        expected = found["marian" if name == "marian" else "t5"]
        source, target = (PublishedPieces(vocabularies[index]) for index in (0, -1))
        ids = [[*row, source.end_id] for row in source.split(expected["texts"]).to_list()]
        assert ids == expected["ids"], name
        joined = [text.decode() for text in source.join(tf.ragged.constant(ids)).numpy()]
        assert joined == [text.strip() for text in expected["decoded"]], name
        if name == "marian":
            targets = [[*row, target.end_id] for row in target.split(expected["texts"]).to_list()]
            assert targets == expected["target_ids"]


def test_ids_and_texts_equal_transformers(tmp_path):
    check_equal(json.loads(STORED.read_text()), tmp_path)


@pytest.mark.parametrize("rules", ["identity", "nmt_nfkc"])
def test_ids_and_texts_equal_transformers_now(tmp_path, rules):
    if not peers.has_transformers():
        pytest.skip("needs torch and transformers, to compare with; TORCH_PYTHON may name a Python that has them")
    program, output = Path(__file__).with_name("pieces_reference.py"), tmp_path / "pieces.json"
    subprocess.run([peers.TORCH_PYTHON, program, output, rules], check=True, capture_output=True, timeout=300)
    found = json.loads(output.read_text())
    check_equal(found, tmp_path)
    if rules == "identity":
        stored = json.loads(STORED.read_text())
        assert [(part["ids"], part["decoded"]) for part in found.values()] == [
            (part["ids"], part["decoded"]) for part in stored.values()
        ]


def changed(folder, file, **values):
    content = json.loads((folder / file).read_text())
    (folder / file).write_text(json.dumps({**content, **values}))
    return folder


@pytest.mark.parametrize(
    ("name", "file", "change", "message"),
    [
        (
            "marian",
            "config.json",
            {"vocab_size": 9},
            "vocab.json: the vocabulary is not of the model: expected 9 tokens",
        ),
        ("marian", "config.json", {"bad_words_ids": [[1, 2]]}, "expected bad_words_ids to be single tokens"),
        ("marian", "config.json", {"eos_token_id": [0, 1]}, "expected eos_token_id to be the id of a token"),
        (
            "t5",
            "config.json",
            {"vocab_size": 20},
            "spiece.model: the vocabulary is not of the model: expected at most 20",
        ),
        (
            "t5",
            "config.json",
            {"decoder_start_token_id": None},
            "expected decoder_start_token_id to be the id of a token, received None",
        ),
        ("converted", "tokenizer.json", {"normalizer": {"type": "Lowercase"}}, "expected a Precompiled normalizer"),
        (
            "converted",
            "tokenizer.json",
            {"model": {"type": "BPE", "unk_id": 0, "vocab": []}},
            "expected type to be Unigram, received BPE",
        ),
    ],
)
def test_other_tokenizers_are_refused(tmp_path, name, file, change, message):
    tokenizers(tmp_path, json.loads(STORED.read_text()))
    with pytest.raises(CheckpointError, match=message):
        pretrained.open(changed(tmp_path / name, file, **change)).tokenization()


@pytest.mark.parametrize(("name", "file"), [("marian", "source.spm"), ("marian", "vocab.json"), ("t5", "spiece.model")])
def test_missing_files_are_named(tmp_path, name, file):
    tokenizers(tmp_path, json.loads(STORED.read_text()))
    (tmp_path / name / file).unlink()
    with pytest.raises(DataError, match=f"{file}: the file is missing"):
        pretrained.open(tmp_path / name).tokenization()
