"""Token classification: targets, weights, and merging of windows."""

import keras
import numpy as np
import pytest

from tests.contracts.task import check_any_length, check_task
from tests.tasks.small_encoder import arrays, small_encoder
from tfattn.formats.tag_schemes import spans, to_iob2
from tfattn.tasks.tagged_entities import Entity, entities_of, tags_of
from tfattn.tasks.token_classification import TokenClassification

TYPES = ["LOC", "PER"]
DRAW = np.random.default_rng(1)
LENGTHS = np.array([8, 5, 6, 3])
REAL = np.arange(8) < LENGTHS[:, None]
# The first token is [CLS], the last [SEP]; some words have a second piece, and some are no words of the file.
WORDS = REAL & (np.arange(8) > 0) & (np.arange(8) < LENGTHS[:, None] - 1) & (DRAW.random((4, 8)) < 0.8)
BATCH = {
    "token_ids": np.where(REAL, DRAW.integers(1, 50, size=(4, 8)), 0).astype("int32"),
    "padding_mask": REAL,
    "word_numbers": np.where(WORDS, np.cumsum(WORDS, axis=1), 0).astype("int32"),
    "starts": np.where(WORDS, 3 * np.arange(8), 0).astype("int32"),
    "ends": np.where(WORDS, 3 * np.arange(8) + 2, 0).astype("int32"),
    "max_context": WORDS.astype("int32"),
    "label_ids": np.where(WORDS, DRAW.integers(0, 5, size=(4, 8)), np.where(REAL, -1, 0)).astype("int32"),
    "is_tagged": (WORDS & (DRAW.random((4, 8)) < 0.8)).astype("int32"),
    "weights": np.ones(4, "float32"),
}


def tagger(**options):
    return TokenClassification(
        model=small_encoder(), targets={"labels": TYPES, "counts": [1, 1]}, **{"dropout": 0.0, **options}
    )


def test_contract(tmp_path):
    check_task(tagger, BATCH, folder=tmp_path)
    check_any_length(tagger(), BATCH)


def test_the_loss_is_the_cross_entropy_of_tokens_with_a_label():
    task = tagger()
    outputs = task(BATCH)
    (loss,), (weights,) = arrays(task.loss_terms(outputs, BATCH)).values(), arrays(task.loss_weights(BATCH)).values()
    np.testing.assert_array_equal(weights > 0, WORDS)
    logits = keras.ops.convert_to_numpy(outputs["logits"]).astype(float)
    expected = np.log(np.exp(logits).sum(-1)) - np.take_along_axis(
        logits, np.maximum(BATCH["label_ids"], 0)[..., None], 2
    ).squeeze(2)
    np.testing.assert_allclose(loss[WORDS], expected[WORDS], atol=1e-5)


def test_metrics_are_of_entities_over_the_words_of_the_file():
    task = tagger()
    outputs = task(BATCH)
    true_logits = 2 * np.eye(outputs["logits"].shape[-1], dtype="float32")[np.maximum(BATCH["label_ids"], 0)]
    outputs["logits"] = true_logits + np.random.default_rng(0).normal(size=true_logits.shape).astype("float32")
    metrics = task.metrics_from(arrays(task.statistics(outputs, BATCH)), {})
    given = keras.ops.convert_to_numpy(outputs["logits"]).argmax(-1)
    chosen = [row > 0 for row in BATCH["is_tagged"]]
    true, found = (
        [tags_of(row[one], TYPES) for row, one in zip(ids, chosen, strict=True)] for ids in (BATCH["label_ids"], given)
    )
    sides = [[set(spans(to_iob2(tags, "iob1"))) for tags in side] for side in (true, found)]
    right = sum(len(one & other) for one, other in zip(*sides, strict=True))
    wanted, given = (sum(map(len, side)) for side in sides)
    assert right and metrics["f1"] == pytest.approx(2 * right / (wanted + given))
    assert metrics["precision"] == pytest.approx(right / given) and metrics["recall"] == pytest.approx(right / wanted)
    words = [pair for pairs in zip(true, found, strict=True) for pair in zip(*pairs, strict=True)]
    assert metrics["token_accuracy"] == pytest.approx(np.mean([one == other for one, other in words]))


def test_predictions_are_of_words_in_their_order():
    task = tagger()
    outputs = task(BATCH)
    predicted = arrays(task.predictions(outputs))
    scores = keras.ops.convert_to_numpy(keras.ops.softmax(outputs["logits"]))
    for row in range(4):
        words = np.flatnonzero(WORDS[row])
        count = len(words)
        np.testing.assert_array_equal(predicted["word_numbers"][row], [*range(1, count + 1), *[0] * (8 - count)])
        np.testing.assert_allclose(predicted["scores"][row][:count], scores[row][words], rtol=1e-6)
        np.testing.assert_array_equal(predicted["starts"][row][:count], 3 * words)


def test_each_word_is_taken_from_the_window_with_max_context():
    task = tagger()
    numbers = np.array([[1, 2, 3, 0], [2, 3, 4, 0], [1, 0, 0, 0]], "int32")
    taken = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0]], "int32")
    predictions = {
        "scores": DRAW.random((3, 4, 5)).astype("float32"),
        "label_ids": np.array([[1, 2, 0, 0], [0, 3, 4, 0], [2, 0, 0, 0]], "int32"),
        "word_numbers": numbers,
        "starts": 10 * numbers,
        "ends": 10 * numbers + 5,
        "max_context": taken,
    }
    found = arrays(task.merge_examples(predictions, np.array([0, 0, 2]), 3))
    assert found["word_numbers"].tolist() == [[1, 2, 3, 4], [0, 0, 0, 0], [1, 0, 0, 0]]
    assert found["label_ids"].tolist() == [[1, 2, 3, 4], [0, 0, 0, 0], [2, 0, 0, 0]]
    expected = [predictions["scores"][0, 0], predictions["scores"][0, 1], *predictions["scores"][1, 1:3]]
    np.testing.assert_array_equal(found["scores"][0], expected)
    entities = entities_of(found, 0, TYPES)
    assert [one[:3] for one in entities] == [("LOC", 10, 25), ("PER", 30, 45)]
    assert entities[0].score == pytest.approx((expected[0][1] + expected[1][2]) / 2)
    assert entities_of(found, 1, TYPES) == []
    assert entities_of(found, 2, TYPES) == [Entity("LOC", 10, 15, pytest.approx(predictions["scores"][2, 0, 2]))]
    nothing = {name: values[:0] for name, values in predictions.items()}
    assert all(len(x) == 0 for x in arrays(task.merge_examples(nothing, np.zeros(0, int), 0)).values())
