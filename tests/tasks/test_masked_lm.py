"""Pre-training tasks: weights in losses and metrics, and training."""

import math

import keras
import numpy as np
import pytest

from tfattn.models.bert import Bert
from tfattn.tasks.bert_pretraining import BertPretraining
from tfattn.tasks.masked_lm import MaskedLm

BATCH = {
    "token_ids": np.array([[2, 5, 4, 6, 3], [2, 4, 7, 3, 0]], "int32"),
    "segment_ids": np.array([[0, 0, 0, 1, 1], [0, 0, 1, 1, 0]], "int32"),
    "padding_mask": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]], bool),
    "masked_lm_positions": np.array([[2, 3], [1, 0]], "int32"),
    "masked_lm_ids": np.array([[8, 6], [5, 0]], "int32"),
    "masked_lm_weights": np.array([[1, 1], [1, 0]], "float32"),
    "next_sentence_labels": np.array([1, 0], "int32"),
    "weights": np.ones(2, "float32"),
}


def encoder(**options):
    keras.utils.set_random_seed(1)
    sizes = {"vocabulary_size": 9, "hidden_dim": 8, "num_layers": 1, "num_heads": 2, "intermediate_dim": 16}
    return Bert(**{**sizes, "initializer_range": 0.3, "dropout": 0.0, **options})


def array(tensor):
    return keras.ops.convert_to_numpy(tensor)


def test_logits_are_computed_only_at_masked_positions():
    task = MaskedLm(model=encoder())
    weights = {v.path: array(v).astype("float64") for v in task.weights}
    x = array(task.model(BATCH)["sequence_output"]).astype("float64")
    x = np.stack([x[0, [2, 3]], x[1, [1, 0]]])
    x = x @ weights["masked_lm_head/dense/kernel"] + weights["masked_lm_head/dense/bias"]
    x = np.vectorize(lambda one: one * 0.5 * (1 + math.erf(one / math.sqrt(2))))(x)
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-12)
    x = x * weights["masked_lm_head/norm/gamma"] + weights["masked_lm_head/norm/beta"]
    expected = x @ weights["bert/embeddings/token/embeddings"].T + weights["masked_lm_head/bias"]
    np.testing.assert_allclose(array(task(BATCH)["masked_lm_logits"]), expected, atol=1e-4)


def test_both_terms_have_separate_weights():
    task = BertPretraining(model=encoder())
    weights = {name: array(value) for name, value in task.loss_weights(BATCH).items()}
    assert weights["masked_lm"].tolist() == [[1, 1], [1, 0]] and weights["next_sentence"].tolist() == [1, 1]
    filled = {**BATCH, "weights": np.array([0, 1], "float32")}
    weights = {name: array(value) for name, value in task.loss_weights(filled).items()}
    assert weights["masked_lm"].tolist() == [[0, 0], [1, 0]] and weights["next_sentence"].tolist() == [0, 1]


def test_metrics_count_correct_weighted_predictions():
    task = BertPretraining(model=encoder())
    logits = np.full((2, 2, 9), -5.0, "float32")
    logits[0, 0, 8] = logits[0, 1, 1] = logits[1, 0, 5] = logits[1, 1, 0] = 5.0  # right, wrong, right, no place
    outputs = {"masked_lm_logits": logits, "next_sentence_logits": np.array([[0, 1], [0, 1]], "float32")}
    statistics = {name: array(value) for name, value in task.statistics(outputs, BATCH).items()}
    metrics = task.metrics_from(statistics, {})
    assert metrics == {"masked_lm_accuracy": pytest.approx(2 / 3), "next_sentence_accuracy": 0.5}
    predictions = task.predictions(outputs)
    assert array(predictions["token_ids"])[..., 0].tolist() == [[8, 1], [5, 0]]
    np.testing.assert_allclose(array(predictions["scores"])[..., 0], 1.0, atol=1e-3)


def test_unused_layers_are_not_trained():
    masked, both = MaskedLm(model=encoder()), BertPretraining(model=encoder())
    assert not any("pooler" in v.path for v in masked.trainable_variables)
    assert any("pooler" in v.path for v in both.trainable_variables)
    table = [v for v in masked.trainable_variables if v.shape[0] == 9]
    assert [v.path for v in table] == ["bert/embeddings/token/embeddings", "masked_lm_head/bias"]
