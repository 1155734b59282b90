"""Attention signatures equal the trained model, and describe its tokens."""

import numpy as np
import pytest
import tensorflow as tf

from tfattn.export import attention
from tfattn.export.attention import integrated_gradients
from tfattn.export.row_tasks import Classifier
from tfattn.export.translation import Translator
from tfattn.features import PADDING_MASK, SEGMENT_IDS, TOKEN_IDS
from tfattn.models.rnn_encoder_decoder import RnnEncoderDecoder
from tfattn.preprocessing.sentencepiece import SentencePiece
from tfattn.tasks.translation import Translation
from tfattn.trained.ensemble import TrainedEnsemble

TEXTS = ["coolant is pooling under the sorter", "noise"]


@pytest.fixture(scope="module")
def told(loaded):
    return {
        name: loaded.signatures[name](tf.constant(TEXTS)) for name in ("attention", "attention_vectors", "attributions")
    }


def strings(values):
    return [[one.decode() for one in row] for row in values.numpy()]


def test_weights_are_those_of_the_trained_model(task, served, told):
    features = served.input_side.tokens({"text": TEXTS})
    expected = task.model.attention(features)["encoder"]
    np.testing.assert_allclose(told["attention"]["encoder_weights"], expected.weights, atol=1e-6)
    np.testing.assert_allclose(told["attention_vectors"]["encoder_queries"], expected.queries, atol=1e-5)
    np.testing.assert_allclose(told["attention_vectors"]["encoder_keys"], expected.keys, atol=1e-5)


def test_tokens_are_named_and_padding_is_empty(told):
    labels = told["attention"]
    tokens = strings(labels["tokens"])
    assert tokens[0] == ["[CLS]", "coolant", "is", "pooling", "under", "the", "sorter", "[SEP]"]
    assert tokens[1] == ["[CLS]", "noise", "[SEP]", "", "", "", "", ""]
    assert labels["segments"].numpy()[1].tolist() == [0, 0, 0, -1, -1, -1, -1, -1]
    assert labels["is_special"].numpy()[1].tolist() == [True, False, True, *[False] * 5]
    assert not labels["truncated"].numpy().any()


def test_texts_of_a_pair_have_segments(pair):
    found = pair.signatures()["attention"](tf.constant(["the sorter"]), tf.constant(["blows fuses"]))
    assert found["segments"].numpy().tolist() == [[0, 0, 0, 0, 1, 1, 1]]


def test_attributions_add_up_to_the_score_of_the_predicted_label(task, served, told, loaded):
    found = told["attributions"]
    answer = loaded.signatures["serving_default"](tf.constant(TEXTS))
    assert strings(found["scored"][None])[0] == strings(answer["label"][None])[0]
    np.testing.assert_allclose(found["score"], answer["scores"].numpy().max(axis=1), atol=1e-5)
    sums = found["attributions"].numpy().sum(axis=1)
    np.testing.assert_allclose(sums, found["score"] - found["baseline_score"], atol=0.02)
    assert not found["attributions"].numpy()[1, 3:].any()  # padding


def test_integrated_gradients_of_a_linear_score_are_exact():
    weights = np.random.default_rng(0).normal(size=(1, 4, 3)).astype("float32")
    vectors = tf.constant(np.random.default_rng(1).normal(size=(2, 4, 3)).astype("float32"))
    found, baseline = integrated_gradients(lambda x: tf.reduce_sum(x * weights, axis=[1, 2]) + 2.0, vectors)
    np.testing.assert_allclose(found, (vectors * weights).numpy().sum(-1), rtol=1e-5)
    assert baseline.numpy().tolist() == [2.0, 2.0]


def test_the_first_window_of_a_long_text_is_shown(classifier):
    served = classifier("text", max_length=6, doc_stride=2)
    found = served.signatures()["attention"](tf.constant(TEXTS))
    assert strings(found["tokens"])[0] == ["[CLS]", "coolant", "is", "pooling", "under", "[SEP]"]
    assert found["truncated"].numpy().tolist() == [True, False]
    assert set(served.input_side.read_for_attention(tf.constant(TEXTS))[0]) == {TOKEN_IDS, PADDING_MASK, SEGMENT_IDS}


def test_a_too_long_sequence_is_refused(served, monkeypatch):
    monkeypatch.setattr(attention, "MAX_TOKENS", 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="attention has at most 4 tokens"):
        served.signatures()["attention"](tf.constant(TEXTS))


def test_too_many_weights_for_a_response_are_refused(served, monkeypatch):
    monkeypatch.setattr(attention, "MAX_WEIGHTS", 40)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="at most 40 weights per request: send fewer or shorter texts"
    ):
        served.signatures()["attention"](tf.constant(TEXTS))


def test_refused_requests_are_not_computed(task, classifier, monkeypatch):
    computed, attend = tf.Variable(0), type(task.model).attention

    def counted(model, features):
        with tf.control_dependencies([computed.assign_add(tf.minimum(tf.size(features[TOKEN_IDS]), 1))]):
            return attend(model, {name: tf.identity(value) for name, value in features.items()})

    monkeypatch.setattr(type(task.model), "attention", counted)
    number = task.model.attention(classifier("text").input_side.tokens({"text": TEXTS}))["encoder"].weights.numpy().size
    computed.assign(0)
    monkeypatch.setattr(attention, "MAX_WEIGHTS", number)
    classifier("text").signatures()["attention"](tf.constant(TEXTS))
    assert computed.numpy() == 1
    monkeypatch.setattr(attention, "MAX_WEIGHTS", number - 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="send fewer or shorter texts"):
        classifier("text").signatures()["attention"](tf.constant(TEXTS))
    assert computed.numpy() == 1


def test_columns_are_the_tokens_of_a_table(table_members):
    served = Classifier(TrainedEnsemble(table_members[:1]))
    row = {"age": [30.0], "hours-per-week": [40.0], "Score.BG": [1.0], "work_class": ["private"]}
    inputs = [tf.constant(row[name]) for name in served.inputs]
    found = served.signatures()["attention"](*inputs)
    assert strings(found["tokens"]) == [["[CLS]", "age", "hours-per-week", "Score.BG", "work_class"]]
    shape = found["encoder_weights"].shape
    assert shape[-1] == shape[-2] == 5


def test_a_recurrent_translator_has_cross_attention_and_no_vectors():
    text = SentencePiece(vocabulary_size=60)
    text.fit([{"source": "a pump leaks", "target": "eine Pumpe leckt"}] * 3)
    model = RnnEncoderDecoder(**text.sizes, hidden_dim=8, embedding_dim=6)
    task = Translation(model=model, preprocessor=text)
    signatures = Translator(TrainedEnsemble([(text, task)])).signatures()
    assert "attention_vectors" not in signatures and "attributions" not in signatures
    found = signatures["attention"](tf.constant(["a pump leaks"]), tf.constant(["eine Pumpe"]))
    words = strings(found["written_word_texts"])[0]
    assert found["cross_weights"].shape == (1, 1, 1, len(words), found["tokens"].shape[1])
    assert words[0] == "eine" and found["written_is_special"].numpy()[0].tolist()[-1]
    assert strings(found["target_tokens"])[0][1:] == strings(found["written_tokens"])[0][:-1]
