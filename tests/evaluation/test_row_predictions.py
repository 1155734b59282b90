"""Rows with their predictions: the order of errors, and the lines of predictions.jsonl."""

import numpy as np

from tfattn.evaluation.row_predictions import KEPT_SCORES, ChoicePredictions, RowFormat, label_line, location


def test_errors_are_sorted_by_confidence():
    scores = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.5, 0.5], [0.7, 0.3]])
    given = np.array([0, 1, 1, 0, 0])
    chosen = ChoicePredictions(rows=[{}] * 5, true=np.array([0, 0, 0, 1, 1]), predicted_ids=given, scores=scores)
    assert chosen.right.tolist() == [True, False, False, False, False]
    assert chosen.confidence.tolist() == [0.9, 0.6, 0.8, 0.5, 0.7]
    assert chosen.wrong.tolist() == [2, 4, 1, 3]


def test_tables_of_rows_have_a_column_of_identifiers():
    rows = [{"row": f"a.csv:{line}", "id": f"R{line}", "text": "A leak."} for line in (2, 3)]
    assert RowFormat(rows, ["text"], "text").table([1], {"score": [0.5]}).rows == [["A leak.", 0.5, "R3", "3"]]
    without = [{name: value for name, value in row.items() if name != "id"} for row in rows]
    assert RowFormat(without, ["text"], "text").table([1], {}).columns == ["text", "line"]
    assert [location(rows[0]), location(without[0])] == ["R2, 2", "2"]


def test_a_line_keeps_the_row_and_the_highest_scores_first():
    labels = [f"label {number}" for number in range(8)]
    scores = np.array([0.3, 0.1, 0.2, 0.05, 0.05, 0.2, 0.06, 0.04], "float32")
    line = label_line(
        {"row": "a.csv:2", "text": "x", "label": " label  0"}, labels, true=0, predicted_id=0, scores=scores
    )
    assert line["row"] == "a.csv:2" and line["predicted"] == "label 0" and line["right"] is True
    # `label` is the prediction in the lines of `tfattn predict`; the gold label is spelled as the predicted ones are.
    assert "label" not in line and line["target"] == "label 0"
    assert len(line["scores"]) == KEPT_SCORES
    assert list(line["scores"]) == ["label 0", "label 2", "label 5", "label 1", "label 6"]
    assert label_line({}, labels, true=3, predicted_id=0, scores=scores)["right"] is False
