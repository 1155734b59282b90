"""Text vectors equal the encoder on each text alone, independent of the batch."""

import numpy as np
import pytest

from tests.pretrained.exports import write_export
from tfattn.errors import CheckpointError, ConfigError
from tfattn.models.modern_bert import ModernBert
from tfattn.vectors import text_encoder
from tfattn.vectors.text_encoder import TextEncoder


def close(values, expected):
    np.testing.assert_allclose(values, expected, atol=2e-6)


LIMITS = {"one window": {}, "windows of two rows": {"WINDOW_ROWS": 2}, "parts of a row": {"MAX_FLOATS": 1}}


@pytest.fixture
def limit(monkeypatch):
    """Return a function that limits how many texts are held together."""
    return lambda name: [monkeypatch.setattr(text_encoder, key, value) for key, value in LIMITS[name].items()]


@pytest.mark.parametrize(
    ("held", "layers"),
    [("one window", (-1,)), ("windows of two rows", (-4, -2)), ("parts of a row", (-1, -2, -3, -4))],
)
def test_token_vectors_are_those_of_the_layers(encoder, states, texts, limit, held, layers):
    limit(held)
    found = list(encoder(pooling="none", layers=layers, max_tokens=24).encode(texts))
    assert len(found) == len(texts)
    for one, row in zip(found, texts, strict=True):
        tokens, hidden, _ = states(row)
        assert one.tokens == tokens and one.values.dtype == np.float32
        close(one.values, np.stack([hidden[layer] for layer in layers], axis=1))  # (T, L, D)


@pytest.mark.parametrize(
    ("held", "pooling", "layers"),  # each pair of two values
    [
        ("one window", "mean", (-1,)),
        ("one window", "cls", (-2, -4)),
        ("windows of two rows", "mean", (-2, -4)),
        ("windows of two rows", "cls", (-1,)),
        ("parts of a row", "mean", (-1,)),
        ("parts of a row", "cls", (-2, -4)),
    ],
)
def test_layers_of_a_text_vector_are_concatenated(encoder, states, texts, limit, held, pooling, layers):
    limit(held)
    found = list(encoder(pooling=pooling, layers=layers, max_tokens=24).encode(texts))
    for one, row in zip(found, texts, strict=True):
        hidden = states(row)[1]
        pooled = hidden.mean(axis=1) if pooling == "mean" else hidden[:, 0]
        close(one.values, np.concatenate([pooled[layer] for layer in layers]))


def test_the_pooler_is_that_of_the_encoder(encoder, states, texts):
    for one, row in zip(encoder(pooling="pooler").encode(texts), texts, strict=True):
        close(one.values, states(row)[2])


@pytest.mark.parametrize("pooling", ["none", "mean"])
def test_normalized_vectors_have_length_1_and_the_same_direction(encoder, texts, pooling):
    plain = [one.values for one in encoder(pooling=pooling, layers=(-1, -2)).encode(texts)]
    found = [one.values for one in encoder(pooling=pooling, layers=(-1, -2), normalize=True).encode(texts)]
    for values, others in zip(found, plain, strict=True):
        close(values, others / np.linalg.norm(others, axis=-1, keepdims=True))


def test_pairs_are_read_with_segments(encoder, states):
    rows = [{"text_a": "the man", "text_b": "went to the store"}, {"text_a": "", "text_b": "天气"}]
    for one, row in zip(encoder("text_a", "text_b", pooling="none", layers=(-1,)).encode(rows), rows, strict=True):
        tokens, hidden, _ = states(row)
        assert one.tokens == tokens and tokens.count("[SEP]") == 2
        close(one.values[:, 0], hidden[-1])


def test_longer_texts_are_cut_and_reported(encoder, texts):
    found = list(encoder(pooling="none").encode(texts))
    assert [one.is_truncated for one in found] == [False] * 6 + [True] * 2
    assert [len(one.tokens) for one in found[-2:]] == [12, 12]


def test_rows_are_read_one_window_at_a_time(encoder, texts, monkeypatch):
    monkeypatch.setattr(text_encoder, "WINDOW_ROWS", 2)
    rows = iter(texts)
    next(encoder(pooling="mean").encode(rows))
    assert list(rows) == texts[2:]


def test_layers_by_default(encoder):
    assert encoder(pooling="none").layers == (-1, -2, -3, -4)
    assert encoder(pooling="mean").layers == encoder(pooling="pooler").layers == (-1,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pooling": "none", "layers": (-1, -5)}, "some of -1, the top, to -4, the embeddings, received -5"),
        ({"pooling": "mean", "layers": (0,)}, "no such layer.* received 0"),
        ({"pooling": "mean", "layers": ()}, "received none"),
        ({"pooling": "pooler", "layers": (-2,)}, "the pooler reads the top layer: expected -1, received -2"),
    ],
)
def test_missing_encoder_layers_are_refused(encoder, options, message):
    with pytest.raises(ConfigError, match=message):
        encoder(**options)


def test_an_export_is_opened_with_its_training_settings(bert, words, states, tmp_path):
    folder = write_export(tmp_path / "1", bert, words, columns={"text": "Description"}, model_max_length=7)
    row = {"text": "the man"}
    (one,) = TextEncoder.open(folder, pooling="none", layers=[-1]).encode([row])
    close(one.values[:, 0], states(row)[1][-1])
    (one,) = TextEncoder.open(folder, pooling="none").encode([{"text": "the " * 9}])
    assert one.is_truncated and len(one.tokens) == 7


def test_other_encoders_have_layers(words, tmp_path):
    sizes = {"hidden_dim": 8, "num_layers": 2, "num_heads": 2, "intermediate_dim": 16, "max_sequence_length": 16}
    modern = ModernBert(vocabulary_size=len(words), **sizes)
    encoder = TextEncoder.open(write_export(tmp_path / "1", modern, words, name="modern_bert"), pooling="none")
    assert encoder.layers == (-1, -2, -3)
    (one,) = encoder.encode([{"text": "the man"}])
    outputs = modern({"token_ids": np.array([[words.index(token) for token in one.tokens]])})
    close(one.values.swapaxes(0, 1)[::-1], np.concatenate(outputs["hidden_states"]))


def test_bfloat16_is_nearly_the_same(bert, words, texts, tmp_path):
    folder = write_export(tmp_path / "1", bert, words)
    exact, rough = (
        np.stack([one.values for one in TextEncoder.open(folder, pooling="mean", precision=precision).encode(texts)])
        for precision in ("float32", "bfloat16")
    )
    assert rough.dtype == np.float32
    assert 0 < np.abs(exact - rough).max() < 0.1


def test_too_large_lengths_are_refused(bert, words, tmp_path):
    folder = write_export(tmp_path / "1", bert, words)
    with pytest.raises(ConfigError, match="the maximum of the encoder: expected at most 16, received 17"):
        TextEncoder.open(folder, pooling="mean", max_length=17)


def test_a_pooler_is_required_only_for_pooling(bert, words, tmp_path):
    folder = write_export(tmp_path / "1", bert, words, without="pooler")
    assert TextEncoder.open(folder, pooling="mean").layers == (-1,)
    with pytest.raises(CheckpointError, match="2 of .* tensors are missing: expected pooler"):
        TextEncoder.open(folder, pooling="pooler")


def test_other_models_are_refused(bert, words, tmp_path):
    folder = write_export(tmp_path / "1", bert, words, name="transformer")
    with pytest.raises(CheckpointError, match="the model is not a text encoder: received the model transformer"):
        TextEncoder.open(folder, pooling="mean")
