"""Rows of a caller as inputs, and outputs with readable names."""

import math

import numpy as np
import pandas as pd
import pytest

from tfattn.errors import ServingError
from tfattn.serving.client.row_values import as_text, have_labels, named, records

SCORES = {"scores": [0.25, 0.75]}


def test_a_label_has_its_score():
    outputs = {"label": "yes", "label_id": 1, **SCORES, "truncated": False}
    assert have_labels(outputs)
    assert list(named(outputs, ["no", "yes"]).items()) == [
        ("label", "yes"),
        ("label_id", 1),
        ("score", 0.75),
        ("scores", {"no": 0.25, "yes": 0.75}),
        ("truncated", False),
    ]


def test_predicted_labels_are_listed():
    outputs = {**SCORES, "is_label": [False, True], "truncated": False}
    assert have_labels(outputs)
    assert named(outputs, ["no", "yes"]) == {"labels": ["yes"], "scores": {"no": 0.25, "yes": 0.75}, "truncated": False}
    assert named({**SCORES, "is_label": [False, False]}, ["no", "yes"])["labels"] == []


def test_the_labels_of_a_prediction_set_are_named_the_highest_score_first():
    outputs = {"label": "yes", "label_id": 1, "scores": [0.4, 0.6], "in_prediction_set": [True, True]}
    found = named(outputs, ["no", "yes"])
    assert found["prediction_set"] == ["yes", "no"] and "in_prediction_set" not in found
    assert list(found) == ["label", "label_id", "score", "prediction_set", "scores"]
    assert named({**outputs, "in_prediction_set": [False, False]}, ["no", "yes"])["prediction_set"] == []


def test_the_entities_of_a_text_are_listed():
    outputs = {
        "end": [4, 9, 0], "entities": ["Rome", "Bo", ""], "labels": ["LOC", "PER", ""], "length": 2,
        "score": [0.5, 0.75, 0.0], "start": [0, 7, 0], "truncated": False,
    }  # fmt: skip
    assert named(outputs, ()) == {
        "entities": [
            {"text": "Rome", "label": "LOC", "start": 0, "end": 4, "score": 0.5},
            {"text": "Bo", "label": "PER", "start": 7, "end": 9, "score": 0.75},
        ],
        "truncated": False,
    }


def test_a_predicted_number_is_first():
    assert not have_labels(["prediction", "truncated"])
    assert list(named({"essential_features": [1.0], "prediction": 3.5}, ())) == ["prediction", "essential_features"]


def test_a_data_frame_is_a_list_of_its_rows():
    frame = pd.DataFrame({"a": [1, 2], "b": pd.array([3, None], "Int64"), "c": ["x", None], 4: [True, False]})
    first, second = records(frame)
    assert first == {"a": 1, "b": 3, "c": "x", 4: True}
    assert math.isnan(second["b"]) and math.isnan(second["c"])
    assert records(row for row in [first]) == [first] == records(first)


@pytest.mark.parametrize("rows", ["text", ["text"], [["a"]]])
def test_rows_that_are_not_mappings_are_refused(rows):
    with pytest.raises(ServingError, match="a row is not a mapping"):
        records(rows)


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (3.0, "3"), (3.5, "3.5"), (np.int64(3), "3"), (np.float32("nan"), ""), ("x", "x"), (None, None)],
)
def test_numbers_are_texts_of_categories(value, text):
    assert as_text(value) == text
