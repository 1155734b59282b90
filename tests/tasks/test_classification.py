"""Classification: ensembles, thresholds and class weights."""

import numpy as np
import pytest

from tests.tasks.small_encoder import arrays, small_table_model
from tfattn.tasks.classification import Classification, weights_of_classes
from tfattn.tasks.operating_point import OperatingPoint

FIRST = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.25, 0.5]], "float32")
SECOND = np.array([[0.0, 0.75, 0.25], [0.125, 0.25, 0.625], [0.25, 0.25, 0.5]], "float32")


def prediction(scores, **others):
    return {"scores": scores, "label_ids": scores.argmax(-1).astype("int32"), **others}


def combined(predictions, positive_id=None, threshold=None):
    """What a task makes of several predictions, at the operating point of a threshold if there is one."""
    labels = list("abc")[: predictions[0]["scores"].shape[1]]
    positive = None if positive_id is None else labels[positive_id]
    targets = {"labels": labels, "counts": [1] * len(labels)}
    task = Classification(model=small_table_model(), targets=targets, positive=positive)
    return task.combine(predictions, None if threshold is None else OperatingPoint(threshold, {}))


def label_ids(scores, **options):
    return arrays(combined([prediction(np.array(scores, "float32"))], **options))["label_ids"].tolist()


def test_several_models_predict_their_mean():
    attention = np.array([[1.0], [0.0], [0.5]], "float32")
    together = arrays(combined([prediction(FIRST, attention=attention), prediction(SECOND, attention=attention / 2)]))
    np.testing.assert_array_equal(together["scores"], (FIRST + SECOND) / 2)
    np.testing.assert_array_equal(together["attention"], attention * 0.75)
    np.testing.assert_array_equal(together["label_ids"], [1, 1, 2])  # of the first row, neither alone decides
    assert together["label_ids"].dtype == "int32" and together["scores"].dtype == "float32"


def test_a_single_model_is_unchanged():
    alone = arrays(combined([prediction(FIRST)]))
    np.testing.assert_array_equal(alone["scores"], FIRST)
    np.testing.assert_array_equal(alone["label_ids"], [0, 1, 2])
    assert alone["label_ids"].dtype == "int32"


def test_a_score_that_reaches_the_threshold_is_positive():
    below = float(np.nextafter(np.float32(0.75), np.float32(0)))
    scores = [[0.25, 0.75], [1 - below, below], [0.0, 1.0], [1.0, 0.0]]
    assert label_ids(scores, positive_id=1, threshold=0.75) == [1, 0, 1, 0]
    assert label_ids(scores, positive_id=0, threshold=0.25) == [0, 0, 1, 0]
    assert label_ids(scores, positive_id=1, threshold=0.0) == [1, 1, 1, 1]


@pytest.mark.parametrize("positive_id", [0, 1, 2])
def test_below_the_threshold_the_best_other_label_is_predicted(positive_id):
    scores = [[0.5, 0.25, 0.25], [0.125, 0.375, 0.5], [0.25, 0.625, 0.125]]
    assert label_ids(scores, positive_id=positive_id, threshold=0.4) == [0, 2, 1]
    without = label_ids(scores, positive_id=positive_id, threshold=1.0)
    assert positive_id not in without
    for row, label in zip(scores, without, strict=True):
        assert row[label] == max(score for number, score in enumerate(row) if number != positive_id)


def test_the_threshold_applies_to_the_mean_score():
    scores = np.array([[0.5, 0.5]], "float32"), np.array([[0.0, 1.0]], "float32")
    both = [prediction(one) for one in scores]
    assert arrays(combined(both, positive_id=1, threshold=0.75))["label_ids"].tolist() == [1]
    assert arrays(combined(both, positive_id=1, threshold=0.875))["label_ids"].tolist() == [0]


def test_balanced_weights_are_equal_in_total_and_defined_without_rows():
    def balanced(counts):
        return weights_of_classes("balanced", labels=None, counts=counts)

    assert balanced([2, 6]) == [2.0, pytest.approx(8 / 12)]
    assert np.isfinite(balanced([2, 6, 0])).all()
