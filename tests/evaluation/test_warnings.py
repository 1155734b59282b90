"""Warnings about metrics occur if and only if they apply."""

import numpy as np
import pytest

from tfattn.evaluation import warnings
from tfattn.evaluation.metrics import classification, detection

LABELS = ["No", "Yes", "Maybe"]
TRUE = np.repeat([0, 1], [80, 20])


def said(given, true=TRUE, **more):
    return warnings.of_labels({**classification(true, given, LABELS), **more}, LABELS, true, given)


def test_predicting_the_most_frequent_label_has_a_warning():
    first, second = said(np.zeros(100, int))
    assert first.startswith("The model is not better than always predicting “No”, which has an accuracy of 80.0%")
    assert "between 71.1% and 86.7%" in first
    assert second == "It never predicts “Yes”."  # nor Maybe, which no row is


def test_an_interval_below_the_baseline_is_worse():
    assert said(1 - TRUE)[0].startswith("The model is worse than always predicting “No”")


@pytest.mark.parametrize(("found", "doubted"), [(7, True), (8, False)])
def test_a_baseline_below_the_interval_has_no_warning(found, doubted):
    given = TRUE.copy()
    given[80 + found :] = 0  # found: of the 20 rows that are Yes
    assert bool(said(given)) == doubted


def test_scores_that_rank_rows_are_mentioned():
    scores = np.linspace(0.1, 0.4, 100)  # never enough for Yes, but all of these rows are on top
    figures = detection(TRUE == 1, np.zeros(100, bool), scores)
    assert any("ROC AUC 1.0000" in warning for warning in said(np.zeros(100, int), **figures))
    assert not any(
        "ROC AUC" in warning for warning in said(np.zeros(100, int), **detection(TRUE == 1, TRUE > 1, scores * 0))
    )


def test_many_never_predicted_labels_are_counted():
    labels = [f"label {number}" for number in range(30)]
    true, given = np.arange(30).repeat(10), np.zeros(300, int)
    *_, never = warnings.of_labels(classification(true, given, labels), labels, true, given)
    assert never.endswith("“label 5” or 24 more.")


def test_leaked_rows_are_counted_and_excluded():
    leaked, right = np.arange(10) < 4, np.arange(10) % 5 != 4  # right: 4 of 4, 4 of 6
    figures = warnings.accuracy_without(leaked, right)
    assert figures["leaked_rows"] == 4 and figures["accuracy_without_leaked"] == pytest.approx(4 / 6)
    (warning,) = warnings.of_unseen(leaked, figures, split="test", unit="text")
    assert warning.startswith("4 of the 10 test texts (40.0%) are also training rows")
    assert warning.endswith("Without them: an accuracy of 66.7% (30.0% to 90.3%).")


def test_a_single_leaked_row_is_in_the_singular():
    leaked = np.arange(10) < 1
    (warning,) = warnings.of_unseen(leaked, warnings.accuracy_without(leaked, ~leaked), split="test", unit="text")
    assert warning.startswith("1 of the 10 test texts (10.0%) is also a training row, which")


def test_no_leaks_and_all_leaks_have_no_metric_without_leaked():
    none, all_of_them = np.zeros(3, bool), np.ones(3, bool)
    assert warnings.of_unseen(none, warnings.accuracy_without(none, none), split="test", unit="row") == []
    (warning,) = warnings.of_unseen(all_of_them, warnings.accuracy_without(all_of_them, none), split="test", unit="row")
    assert "the metrics say nothing about new rows" in warning


def test_rows_with_conflicting_labels_are_named():
    (warning,) = warnings.of_data({"conflicts": {"rows": 3, "first": ["a.csv:2", "a.csv:9", "a.csv:11"]}}, unit="text")
    assert warning.startswith("3 texts of the data occur with different labels, such as a.csv:2, a.csv:9:")
    assert (
        warnings.of_data({"conflicts": {"rows": 0, "first": []}}, unit="text") == warnings.of_data({}, unit="row") == []
    )


def test_copying_and_constant_translations_have_warnings():
    figures = {"baseline_bleu": 5.0, "bleu_low": 4.0, "bleu_high": 7.0}
    copying, same = warnings.of_written(["a dog"] * 9 + ["a cat"], list("abcdefghij"), figures)
    assert copying.startswith("The model is not better than copying the source, which has a BLEU of 5.0")
    assert same == "It generates “a dog” for 90.0% of the sources."
    assert warnings.of_written(list("abcdefghij"), list("abcdefghij"), figures | {"baseline_bleu": 1.0}) == []
    assert warnings.of_written(["yes"] * 9, ["yes"] * 9, figures | {"baseline_bleu": 1.0}) == []  # so it should be
