"""Initialization of token embeddings from word vectors."""

import keras
import numpy as np
import pytest

from tests.vectors.word_exports import write_export
from tfattn.errors import ConfigError
from tfattn.models.bert import Bert
from tfattn.models.gpt import Gpt
from tfattn.models.modern_bert import ModernBert
from tfattn.models.rnn_encoder_decoder import RnnEncoderDecoder
from tfattn.models.transformer import Transformer
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.preprocessing.whole_tokens import WordTokens
from tfattn.vectors import word_files
from tfattn.vectors.token_embeddings import check_embeddings, initialize_embeddings, token_words
from tfattn.vectors.word_vectors import WordVectors

WORDS = ["the", "king", "Queen", "rain"]
VECTORS = np.random.default_rng(7).normal(scale=3.0, size=(4, 8)).astype("float32")
SMALL = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 8, "max_sequence_length": 8}


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    word_files.write("words.txt", WordVectors(WORDS, VECTORS))
    write_export(tmp_path / "saved_models/words/1", WORDS, VECTORS)


@pytest.fixture
def reader():
    made = WordTokens()
    made.fit([{"text": "the the the king queen elephant"}])
    return made


def models(size):
    sides = {"vocabulary_size": size, "target_vocabulary_size": size}
    return [
        Bert(vocabulary_size=size, **SMALL),
        ModernBert(vocabulary_size=size, **SMALL),
        Gpt(vocabulary_size=size, **SMALL),
        Transformer(**sides, **SMALL),
        RnnEncoderDecoder(**sides, hidden_dim=6, embedding_dim=8, num_layers=1, max_sequence_length=8),
    ]


def directions(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


@pytest.mark.parametrize("source", ["words.txt", "words", "saved_models/words/1"])
def test_word_vectors_are_scaled_to_the_table(reader, source, capsys):
    for model in models(len(reader.tokens)):
        check_embeddings(model, reader, source, is_pretrained=False)
        before = np.array(keras.ops.convert_to_numpy(model.token_embeddings.embeddings))
        initialize_embeddings(model, reader, source).show()
        after = keras.ops.convert_to_numpy(model.token_embeddings.embeddings)
        ids = [reader.tokens.index(word) for word in ("the", "king", "queen")]
        np.testing.assert_allclose(directions(after[ids]), directions(VECTORS[:3]), atol=1e-5)
        spread = np.sqrt(np.mean(np.square(after[ids])))
        assert spread == pytest.approx(model.token_embeddings.initializer_range, rel=1e-4)
        others = [number for number in range(len(before)) if number not in ids]
        np.testing.assert_array_equal(after[others], before[others])
        assert f"Embeddings from {source}: 3 of 6 tokens have the vector of a word" in capsys.readouterr().err


def test_whole_words_and_word_starts_are_words():
    assert token_words(["[CLS]", "rain", "##s", "天"]) == {0: "[CLS]", 1: "rain", 3: "天"}
    assert token_words(["<s>", "▁rain", "s", "▁"]) == {1: "rain"}
    assert token_words(["Ġrain", "s"]) == {0: "rain"}


def test_word_starts_of_sentencepiece_are_detected():
    reader = SentencePiece(model_type="word", vocabulary_size=8, max_length=8)
    reader.fit([{"source": "the king", "target": "the king"}])
    model = Transformer(**reader.sizes, **SMALL)
    assert initialize_embeddings(model, reader, "words.txt").used == 2


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"hidden_dim": 4}, "another width .*: expected 4 numbers, received 8 in words.txt. .*usually `hidden_dim`"),
        ({}, "no token is a word that has a vector: expected words such as .*, received words such as a, b"),
    ],
)
def test_mismatched_vectors_are_refused_without_changes(reader, sizes, message):
    if not sizes:
        word_files.write("words.txt", WordVectors(["a", "b"], VECTORS[:2]))
    model = Bert(vocabulary_size=len(reader.tokens), **{**SMALL, **sizes})
    before = np.array(keras.ops.convert_to_numpy(model.token_embeddings.embeddings))
    with pytest.raises(ConfigError, match=message) as caught:
        initialize_embeddings(model, reader, "words.txt")
    assert caught.value.key == "embeddings.from"
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(model.token_embeddings.embeddings), before)


def test_a_pipeline_starts_from_word_vectors(project, command):
    words = ["coolant", "sorter", "the", "is", "Loud"]
    word_files.write("reports.vec", WordVectors(words, np.random.default_rng(0).normal(size=(5, 16)).astype("float32")))
    (project / "mine.yaml").write_text(
        (project / "tiny.yaml").read_text().replace("{name: bert,", "{name: bert, embeddings: {from: reports.vec},")
    )
    less = ("--set", "training.epochs=1")
    answer = command("train", "mine.yaml", *less)
    assert answer.status == 0, answer.errors
    assert "Embeddings from reports.vec: " in answer.errors and "tokens have the vector of a word" in answer.errors
    # The same vectors make the same model, and others another.
    found = [runs(project)]
    for rows in (None, np.ones((5, 16), "float32")):
        if rows is not None:
            word_files.write("reports.vec", WordVectors(words, rows))
        assert command("train", "mine.yaml", *less).status == 0
        found.append(runs(project))
    assert found[0] == found[1] < found[2]


def runs(project):
    return {path.name for path in (project / "runs/tiny").iterdir()}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            "{from: words.txt}",
            "model.embeddings.from: the vectors have another width .* expected 16 numbers, received 8",
        ),
        ("{from: nowhere.txt}", "model.embeddings.from: there are no such word vectors"),
        ("{form: words.txt}", "model.embeddings.form: wrong value: expected a mapping of 'from'"),
        ("words.txt", "model.embeddings: wrong value: expected a mapping of 'from', each value a string"),
    ],
)
def test_invalid_settings_are_refused_before_training(project, command, settings, message):
    word_files.write("words.txt", WordVectors(WORDS, VECTORS))
    answer = command("train", "tiny.yaml", "--set", f"model.embeddings={settings}")
    assert answer.status == 2
    lines = [line for line in answer.errors.splitlines() if line.startswith("error: ")]
    assert all(part in lines[0] for part in message.split(" .* ")), lines
    assert not (project / "runs").exists()
