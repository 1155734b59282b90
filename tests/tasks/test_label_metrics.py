"""Metrics from counts equal metrics from rows, for any division of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, matthews_corrcoef, precision_recall_fscore_support, recall_score

from tfattn.tasks.label_metrics import LabelCounts, counts_of, roc_auc

ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


@given(ROWS)
def test_metrics_of_counts_equal_scikit_learn(rows):
    true, given_ids = np.array(rows).T
    counts = LabelCounts.of(true, given_ids, 5)
    precision, recall, f1, support = precision_recall_fscore_support(true, given_ids, labels=range(5), zero_division=0)
    for name, values in {"precision": precision, "recall": recall, "f1": f1}.items():
        np.testing.assert_allclose(counts.by_label[name], values)
        assert counts.metrics()[f"macro_{name}"] == pytest.approx(values.mean())
    assert counts.metrics()["accuracy"] == pytest.approx(accuracy_score(true, given_ids))
    assert counts.metrics()["matthews_correlation"] == pytest.approx(matthews_corrcoef(true, given_ids))
    assert counts.true.tolist() == support.tolist()
    detection = counts.detection(1)
    expected = recall_score(true == 1, given_ids == 1, labels=[0, 1], average=None, zero_division=0)
    assert [detection["specificity"], detection["sensitivity"]] == pytest.approx(expected.tolist())


@given(ROWS, ROWS)
def test_counts_of_parts_sum_to_the_whole(rows, others):
    parts = [LabelCounts.of(*np.array(some).T, 4) for some in (rows, others)]
    sums = {name: sum(getattr(part, name) for part in parts) for name in ("true", "given", "right")}
    whole = LabelCounts.of(*np.array(rows + others).T, 4)
    added = counts_of({name: values.astype("float64") for name, values in sums.items()})
    assert added.metrics() == whole.metrics() and added.detection(0) == whole.detection(0)


def test_roc_auc_counts_ordered_pairs():
    assert roc_auc(np.array([True, False, True, False]), np.array([0.9, 0.6, 0.4, 0.1])) == 0.75
    assert roc_auc(np.array([True, True]), np.array([0.9, 0.6])) == 0.5
