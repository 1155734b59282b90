"""Translation: targets, generation and metrics."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfattn.models.contracts.encoder_decoder import EncoderDecoder
from tfattn.tasks.decoding import Decoding
from tfattn.tasks.translation import Translation

WORDS = ["", "?", "<s>", "</s>", "ein", "Hund", "läuft", "schnell"]
FEATURES = {
    "token_ids": np.array([[4, 5, 6, 3], [5, 3, 0, 0]], "int32"),
    "padding_mask": np.array([[1, 1, 1, 1], [1, 1, 0, 0]], bool),
    "target_ids": np.array([[2, 4, 5, 6, 3], [2, 5, 3, 0, 0]], "int32"),
    "target_padding_mask": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool),
    "weights": np.ones(2, "float32"),
}


class Words:
    """Words between spaces."""

    fields, target_fields = ("source",), ("target",)
    start_id, end_id, suppressed_ids = 2, 3, (0, 1, 2)

    def detokenize(self, token_ids):
        rows = np.asarray(token_ids)
        return tf.constant([" ".join(WORDS[number] for number in row if number > 3) for row in rows])

    def token_names(self, token_ids):
        return tf.constant(np.array(WORDS)[np.asarray(token_ids)])

    target_token_names = token_names


class Copier(EncoderDecoder):
    """Is sure of the source's token at the same position, as far as `certainty` says."""

    vocabulary_size = target_vocabulary_size = len(WORDS)
    max_sequence_length = 8

    def __init__(self, certainty=9.0):
        super().__init__(name="copier")
        self.certainty = self.add_weight(shape=(), initializer=keras.initializers.Constant(certainty))

    def encode(self, features, training=False):
        return {name: keras.ops.convert_to_tensor(features[name]) for name in ("token_ids", "padding_mask")}

    def call(self, features, training=False):
        length = features["target_ids"].shape[1] - 1
        copied = keras.ops.one_hot(features["token_ids"][:, :length], len(WORDS))
        return {"logits": copied * self.certainty}

    def empty_state(self, memory, max_length, num_beams=1):
        return ()

    def step(self, token_ids, index, memory, state):
        source = memory["token_ids"]
        (rows, length), (texts,) = keras.ops.shape(source), keras.ops.shape(token_ids)
        place = keras.ops.minimum(index, length - 1)
        here = keras.ops.repeat(keras.ops.take(source, place, axis=1), texts // rows)
        alignment = keras.ops.one_hot(keras.ops.broadcast_to(place, (texts,)), length)
        return keras.ops.one_hot(here, len(WORDS)) * self.certainty, state, alignment


def translation(certainty=9.0, **options):
    return Translation(model=Copier(certainty), preprocessor=Words(), **options)


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_all_real_tokens_are_targets_and_padding_is_not():
    task = translation()
    (losses,) = task.loss_terms(task(FEATURES, training=True), FEATURES).values()
    (weights,) = task.loss_weights(FEATURES).values()
    assert losses.shape == weights.shape == (2, 4)
    assert array(weights).tolist() == [[1, 1, 1, 1], [1, 1, 0, 0]]
    (weights,) = task.loss_weights({**FEATURES, "weights": np.array([1, 0], "float32")}).values()
    assert array(weights).tolist() == [[1, 1, 1, 1], [0, 0, 0, 0]]


def test_training_reads_each_sequence_once():
    assert set(translation()(FEATURES, training=True)) == {"logits"}


def test_generated_text_is_the_most_likely_text():
    task = translation(label_smoothing=0.0)
    predictions = {name: array(value) for name, value in task.predictions(task(FEATURES)).items()}
    assert task.texts(predictions["token_ids"]) == ["ein Hund läuft", "Hund"]
    assert predictions["lengths"].tolist() == [3, 1]
    assert predictions["token_ids"].shape == (2, 7)


def test_metrics_are_those_of_generated_texts():
    task = translation(certainty=2.0)
    outputs = task(FEATURES)
    statistics, rows = (
        {name: array(value) for name, value in some.items()}
        for some in (task.statistics(outputs, FEATURES), task.per_example(outputs, FEATURES))
    )
    rows["target"] = np.array(["ein Hund läuft", "Katze"], object)
    metrics = task.metrics_from(statistics, rows)
    assert metrics["exact_match"] == 0.5
    predictions = {name: array(value) for name, value in task.predictions(outputs).items()}
    assert task.metrics_of(predictions, {"target": rows["target"]}) == pytest.approx(metrics)
    # Each of 6 tokens has the probability e^2 / (e^2 + 7).
    surprise = np.log((np.exp(2) + 7) / np.exp(2))
    assert metrics["perplexity"] == pytest.approx(np.exp(surprise), rel=1e-4)
    assert metrics["word_perplexity"] == pytest.approx(np.exp(6 * surprise / 6), rel=1e-4)


def test_the_limits_of_a_text_are_kept():
    task = translation(decoding=Decoding(max_length=2, num_beams=1))
    assert array(task.predictions(task(FEATURES))["lengths"]).tolist() == [2, 1]


def test_a_source_limits_its_text_and_batches_have_one_width():
    task = translation(decoding=Decoding(max_ratio=0.1, num_beams=1, max_length=30))
    assert task.decoding.max_tokens(task.model) == 7
    predictions = tf.function(lambda: task.predictions(task(FEATURES)), autograph=False)()
    assert predictions["token_ids"].shape[0] == 2 and array(predictions["token_ids"]).shape == (2, 7)
    long = np.full((1, 8), 4, "int32")
    without_end = {"token_ids": long, "padding_mask": np.ones((1, 8), bool)}
    assert array(task.predictions(task(without_end))["lengths"]).tolist() == [7]


@pytest.mark.parametrize("max_ratio", [None, 2.0])
def test_an_empty_source_has_an_empty_translation(max_ratio):
    task = translation(certainty=2.0, decoding=Decoding(num_beams=2, max_ratio=max_ratio))
    empty = {
        "token_ids": np.array([[3, 0, 0, 0], [4, 5, 6, 3]], "int32"),
        "padding_mask": np.array([[1, 0, 0, 0], [1, 1, 1, 1]], bool),
    }
    for n_best in (False, True):
        written = task.generate(task(empty), n_best=n_best, aligned=True)
        assert not array(written.lengths)[0].any() and not array(written.token_ids)[0].any()
        assert not array(written.scores)[0].any() and (array(written.scores)[1] < 0).all()
        assert array(written.lengths)[1].any()
    alone = task.predictions(task({name: values[:1] for name, values in empty.items()}))
    assert task.texts(array(alone["token_ids"])) == [""]


def test_n_best_translations_are_sorted():
    task = translation(certainty=2.0, decoding=Decoding(num_beams=4, num_results=3))
    written = task.generate(task(FEATURES), n_best=True)
    assert written.token_ids.shape == (2, 3, 7)
    assert (np.diff(array(written.scores), axis=1) <= 0).all()


def test_only_single_models_are_supported():
    assert not Translation.supports_ensemble
    assert translation().combine([{"scores": 1}]) == {"scores": 1}
