"""Multi-label classification: cross-entropy per label, weights, threshold and counts."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, precision_score, recall_score

from tests.tasks.small_encoder import arrays, small_table_model
from tfattn.errors import ConfigError
from tfattn.tasks.multi_label_classification import MultiLabelClassification

TARGETS = {"labels": ["leak", "noise", "fire"], "counts": [2, 6, 0], "rows": 8}
DRAW = np.random.default_rng(0)
TRUE = (DRAW.random((20, 3)) < 0.4).astype("int32")
LOGITS = (4 * TRUE - 2 + DRAW.normal(scale=2, size=(20, 3))).astype("float32")
BATCH = {"label_indicators": TRUE, "weights": (np.arange(20) < 15).astype("float32")}


def task(**options):
    return MultiLabelClassification(model=small_table_model(), targets=TARGETS, **options)


def test_loss_is_the_cross_entropy_of_each_label():
    loss = arrays(task().loss_terms({"logits": LOGITS}, BATCH))["cross_entropy"]
    scores = 1 / (1 + np.exp(-LOGITS))
    np.testing.assert_allclose(loss, -np.log(np.where(TRUE, scores, 1 - scores)), rtol=1e-4, atol=1e-6)


def test_balanced_weights_equalize_rows_with_and_without_a_label():
    batch = {"label_indicators": np.array([[1, 0, 0], [0, 1, 0]], "int32"), "weights": np.array([1, 0.5], "float32")}
    weights = arrays(task(class_weights="balanced").loss_weights(batch))["cross_entropy"]
    # 8 / (2 * 2) with and 8 / (2 * 6) without the first label; the other way round with the second
    np.testing.assert_allclose(weights, [[2, 2, 0.5], [1 / 3, 1 / 3, 0.25]], rtol=1e-6)
    given = arrays(task(class_weights={"leak": 3.0}).loss_weights(batch))["cross_entropy"]
    np.testing.assert_allclose(given, [[3, 1, 1], [0.5, 0.5, 0.5]])


def test_a_label_without_rows_has_no_weight():
    with pytest.raises(ConfigError, match="expected some of leak, noise, fire, received 'Leak'. Did you mean `leak`"):
        task(class_weights={"Leak": 2.0})


def test_labels_have_scores_above_the_threshold_and_ensembles_average():
    assert arrays(task().predictions({"logits": np.zeros((1, 3), "float32")}))["is_label"].all()
    some = [{"scores": np.array(scores, "float32"), "is_label": None} for scores in ([[0.75, 0.5]], [[0.5, 0.25]])]
    together = arrays(task(threshold=0.5).combine(some))
    np.testing.assert_array_equal(together["scores"], [[0.625, 0.375]])
    assert together["is_label"].tolist() == [[True, False]]
    assert arrays(task(threshold=0.375).combine(some))["is_label"].tolist() == [[True, True]]


def test_metrics_equal_scikit_learn_for_weighted_rows():
    true, given = TRUE[:15], LOGITS[:15] >= 0
    found = task().metrics_from(arrays(task().statistics({"logits": LOGITS}, BATCH)), {})
    expected = {"subset_accuracy": accuracy_score(true, given), "hamming_loss": hamming_loss(true, given)}
    for average in ("micro", "macro"):
        scores = {"precision": precision_score, "recall": recall_score, "f1": f1_score}
        for name, score in scores.items():
            expected[f"{average}_{name}"] = score(true, given, average=average, zero_division=0)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert found["subset_accuracy_low"] < found["subset_accuracy"] < found["subset_accuracy_high"]
