"""Outputs of a row under the names that a person would use."""

from tfattn.serving.client.row_outputs import have_labels, named

SCORES = {"scores": [0.25, 0.75]}


def test_a_label_comes_with_its_own_score():
    outputs = {"label": "yes", "label_id": 1, **SCORES, "truncated": False}
    assert have_labels(outputs)
    assert list(named(outputs, ["no", "yes"]).items()) == [
        ("label", "yes"),
        ("label_id", 1),
        ("score", 0.75),
        ("scores", {"no": 0.25, "yes": 0.75}),
        ("truncated", False),
    ]


def test_of_any_number_of_labels_those_that_are_given_are_listed():
    outputs = {**SCORES, "is_label": [False, True], "truncated": False}
    assert have_labels(outputs)
    assert named(outputs, ["no", "yes"]) == {"labels": ["yes"], "scores": {"no": 0.25, "yes": 0.75}, "truncated": False}
    assert named({**SCORES, "is_label": [False, False]}, ["no", "yes"])["labels"] == []


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


def test_a_number_comes_first():
    assert not have_labels(["prediction", "truncated"])
    assert list(named({"essential_features": [1.0], "prediction": 3.5}, ())) == ["prediction", "essential_features"]
