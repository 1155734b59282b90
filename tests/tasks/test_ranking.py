"""Ranking: losses of lists and of documents, and metrics that padding and ties do not change."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.contracts.task import check_task
from tfattn.models.bert import Bert
from tfattn.models.modern_bert import ModernBert
from tfattn.tasks.ranking import Ranking

DRAW = np.random.default_rng(2)
# The rows have 4, 2, 3 and 1 documents of 2 to 7 tokens; the third list has no relevant document.
COUNTS = np.array([4, 2, 3, 1])
IS_DOCUMENT = np.arange(4) < COUNTS[:, None]
LENGTHS = np.where(IS_DOCUMENT, DRAW.integers(2, 8, (4, 4)), 0)
REAL = np.arange(8) < LENGTHS[:, :, None]
BATCH = {
    "token_ids": np.where(REAL, DRAW.integers(1, 50, size=REAL.shape), 0).astype("int32"),
    "segment_ids": (REAL & (np.arange(8) > 2)).astype("int32"),
    "padding_mask": REAL,
    "grades": np.array([[0, 2, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]], "float32"),
    "grade_mask": IS_DOCUMENT,
    "weights": np.ones(4, "float32"),
}
SIZES = {"vocabulary_size": 50, "hidden_dim": 16, "num_layers": 1, "num_heads": 2, "intermediate_dim": 32}


def ranker(model=Bert, **options):
    encoder = model(**SIZES, initializer_range=0.5)
    return Ranking(model=encoder, targets={"highest": 2.0}, **{"dropout": 0.0, **options})


def logits(task, batch=BATCH):
    return ops.convert_to_numpy(task(batch)["logits"])[:, :, 0]


def loss_of(task, batch=BATCH):
    (terms,), (weights,) = (
        [ops.convert_to_numpy(x) for x in found.values()]
        for found in (task.loss_terms(task(batch), batch), task.loss_weights(batch))
    )
    return terms, weights


@pytest.mark.parametrize(
    ("model", "options"),
    [(Bert, {}), (Bert, {"loss": "pointwise"}), (ModernBert, {"pooling": "cls"}), (Bert, {"encoder": "frozen"})],
)
def test_contract(model, options, tmp_path):
    keras.utils.set_random_seed(1)
    check_task(lambda: ranker(model, **options), BATCH, folder=tmp_path)


def test_the_listwise_loss_is_the_cross_entropy_with_the_shares_of_the_grades():
    task = ranker()
    found, weights = loss_of(task)
    for row, count in enumerate(COUNTS[:2]):
        values, grades = logits(task)[row, :count], BATCH["grades"][row, :count]
        log_shares = values - np.log(np.exp(values).sum())
        np.testing.assert_allclose(found[row], -(grades / grades.sum() * log_shares).sum(), rtol=1e-4)
    assert weights.tolist() == [1, 1, 0, 0]  # no relevant document, and no other document


def test_the_pointwise_loss_is_the_cross_entropy_of_each_document():
    task = ranker(loss="pointwise")
    found, weights = loss_of(task)
    scores, targets = 1 / (1 + np.exp(-logits(task))), BATCH["grades"] / 2
    expected = -targets * np.log(scores) - (1 - targets) * np.log(1 - scores)
    np.testing.assert_allclose(found[IS_DOCUMENT], expected[IS_DOCUMENT], rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(weights, IS_DOCUMENT.astype("float32"))


def test_a_constant_changes_no_listwise_loss_and_padding_changes_none():
    task = ranker()
    before, _ = loss_of(task)
    task.head.bias.assign([3.0])
    np.testing.assert_allclose(loss_of(task)[0], before, rtol=1e-4, atol=1e-5)
    wider = {
        name: np.pad(values, [(0, 0), (0, 2)] + [(0, 0)] * (values.ndim - 2)) if values.ndim > 1 else values
        for name, values in BATCH.items()
    }
    np.testing.assert_allclose(loss_of(task, wider)[0], before, rtol=1e-4, atol=1e-5)
    scores = ops.convert_to_numpy(task.predictions(task(wider))["scores"])
    assert (scores[:, :4][IS_DOCUMENT] > 0).all() and not scores[:, 4:].any() and not scores[:, :4][~IS_DOCUMENT].any()


def test_documents_keep_their_scores_in_any_order_and_alone():
    task, order = ranker(), np.array([2, 0, 3, 1])
    moved = {name: values[:, order] if values.ndim > 1 else values for name, values in BATCH.items()}
    np.testing.assert_allclose(logits(task, moved), logits(task)[:, order], rtol=1e-4, atol=1e-5)
    alone = {name: values[:, 1:2] if values.ndim > 1 else values for name, values in BATCH.items()}
    np.testing.assert_allclose(logits(task, alone)[:2, 0], logits(task)[:2, 1], rtol=1e-4, atol=1e-5)


def test_lists_without_a_relevant_document_are_not_in_the_metrics():
    task = ranker()
    statistics = {name: float(value) for name, value in task.statistics(task(BATCH), BATCH).items()}
    assert statistics["lists"] == 3 and statistics["recall_at_10"] == 3
    metrics = task.metrics_from(statistics, {})
    assert 0 < metrics["ndcg_at_10"] <= 1 and metrics["recall_at_10"] == 1


def test_both_losses_learn_which_documents_are_relevant():
    for loss in ("listwise", "pointwise"):
        keras.utils.set_random_seed(3)
        task, optimizer = ranker(loss=loss), keras.optimizers.Adam(3e-2)
        if keras.backend.backend() != "tensorflow":
            pytest.skip("the loop below uses TensorFlow's gradients")
        import tensorflow as tf

        for _ in range(10):
            with tf.GradientTape() as tape:
                terms, weights = task.loss_terms(task(BATCH), BATCH)[loss], task.loss_weights(BATCH)[loss]
                value = ops.sum(terms * weights) / ops.sum(weights)
            variables = task.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(value, variables), variables, strict=True))
        found = logits(task)
        assert found[0].argmax() == 1 and found[1, 0] > found[1, 1]
