"""A line of predictions.jsonl holds the row, what was predicted, and the highest scores first."""

import numpy as np

from tfattn.evaluation.label_lines import KEPT_SCORES, label_line


def test_a_line_keeps_the_row_and_the_highest_scores_first():
    labels = [f"label {number}" for number in range(8)]
    scores = np.array([0.3, 0.1, 0.2, 0.05, 0.05, 0.2, 0.06, 0.04], "float32")
    line = label_line({"row": "a.csv:2", "text": "x", "label": " label  0"}, labels, true=0, given=0, scores=scores)
    assert line["row"] == "a.csv:2" and line["predicted"] == "label 0" and line["right"] is True
    # `label` is the prediction in the lines of `tfattn predict`; the gold label is spelled as the predicted ones are.
    assert "label" not in line and line["target"] == "label 0"
    assert len(line["scores"]) == KEPT_SCORES
    assert list(line["scores"]) == ["label 0", "label 2", "label 5", "label 1", "label 6"]
    assert label_line({}, labels, true=3, given=0, scores=scores)["right"] is False
