"""The report of multiple choice: accuracy, chance, and the worst errors."""

import json

import numpy as np
import pytest

from tfattn.evaluation import multiple_choice
from tfattn.trained.predictions import MemberPredictions

CHOICES = [["a", "<b>", "c"], ["d", "e"], ["f", "g", "h"], ["i", "j"]]
TRUE = np.array([0, 1, 2, 0])
SCORES = np.array([[0.7, 0.2, 0.1], [0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.4, 0.6, 0.0]])
ROWS = [
    {"row": f"x.csv:{number}", "context": f"context {number}", "choices": choices, "label": str(label)}
    for number, (choices, label) in enumerate(zip(CHOICES, TRUE, strict=True), start=2)
]


@pytest.fixture
def report(predictions):
    def report(scores=SCORES, **options):
        values = {"scores": scores, "label_ids": scores.argmax(axis=1)}
        return multiple_choice.report(None, predictions(ROWS, values, {"label_ids": TRUE}, **options))

    return report


def test_metrics_are_compared_with_chance(report):
    metrics = report().metrics
    assert metrics["accuracy"] == 0.5 and metrics["accuracy_low"] < 0.5 < metrics["accuracy_high"]
    assert metrics["baseline_accuracy"] == 0.5  # the first place
    assert metrics["chance_accuracy"] == pytest.approx((1 / 3 + 1 / 2) / 2)


def test_rows_are_grouped_by_number_of_choices_and_position(report):
    size, place, *_ = report().sections
    assert size.parts[0].rows == [[2, 2, "0.0%", "50.0%"], [3, 2, "100.0%", "33.3%"]]
    assert place.parts[1].rows == [
        ["choice 0", 2, 2, "50.0%"],
        ["choice 1", 1, 1, "0.0%"],
        ["choice 2", 1, 1, "100.0%"],
    ]


def test_the_most_confident_error_is_first_with_all_choices(report):
    marked = report().sections[-1].parts[1]
    assert [(words, piece.text, piece.kind) for words, [piece] in marked.lines[:3]] == [
        ("3", "context 3", ""),
        ("90.0%", "d", "wrong"),
        ("10.0%", "e", "missed"),
    ]


def test_predictions_have_the_row_and_choice_probabilities(report):
    lines = list(report().predictions)
    json.dumps(lines)
    assert [line["right"] for line in lines] == [True, False, True, False]
    assert lines[1] | {"row": ""} == ROWS[1] | {
        "row": "",
        "label_id": 0,
        "choice": "d",
        "right": False,
        "scores": [0.9, 0.1],
    }


def test_members_are_compared_and_chance_level_has_a_warning(report):
    member = MemberPredictions("seed 1", {"label_ids": TRUE}, {"label_ids": TRUE})
    findings = report(members=[member, member])
    assert findings.metrics["accuracy_members_mean"] == 1.0
    assert "not better than always predicting “choice 0”" in findings.headline.warnings[0]


def test_a_report_without_errors_says_so(report):
    assert report(np.eye(3)[TRUE]).sections[-1].parts[0].text == "There are no errors."
