"""Predictions of a SavedModel in this process."""

import math
import shutil

import pytest

from tfattn import files
from tfattn.errors import DataError, RefusedError, ServingError
from tfattn.serving.client import local


@pytest.fixture(scope="module")
def reports(models):
    return local.load("reports", models)


@pytest.fixture(scope="module")
def hours(models):
    return local.load("timed", models)


def test_a_prediction_has_label_and_scores(reports):
    short, long = reports.predict([{"text": "é"}, {"text": "x" * 30, "other": "not read"}])
    assert short["label"] == "Électronique" and short["label_id"] == 1
    assert short["score"] == short["scores"]["Électronique"] == pytest.approx(10 / 11)
    assert list(long["scores"]) == ["Leak", "Électronique"] and long["label"] == "Leak"
    assert reports.predict([]) == []


def test_inputs_are_known_by_name(reports, models):
    assert reports.inputs == ("text",)
    assert reports.trained_on.columns == {"text": "Description text"}
    pairs = local.load("pairs", models)
    assert pairs.inputs == ("text_a", "text_b")
    assert pairs.predict([{"text_b": "b" * 9, "text_a": "a" * 9}])[0]["label"] == "Leak"


def test_a_missing_input_is_named(reports):
    with pytest.raises(ServingError, match="expected text, received texts"):
        reports.predict([{"texts": "x"}])


def test_numeric_inputs_are_known(reports, hours):
    assert not reports.numeric
    assert hours.numeric == {"age", "hours-per-week"} and set(hours.inputs) == {"age", "hours-per-week", "job"}
    rows = [{"age": 39, "hours-per-week": 40.5, "job": "é"}, {"age": 1.0, "hours-per-week": math.nan, "job": ""}]
    assert [answer["told"] for answer in hours.predict(rows)] == ["é 79.5", " 1.5"]
    assert hours.predict([]) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": "39"}, "the input `age` is no number: expected a number, received '39'"),
        ({"hours-per-week": None}, "the input `hours-per-week` is no number: expected a number, received None"),
        ({"job": [3]}, "the input `job` is no text: expected text, received \\[3\\]"),
        ({"job": None}, "the input `job` is no text: expected text, received None"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(hours, change, message):
    row = {"age": 39.0, "hours-per-week": 40.0, "job": "clerk"}
    with pytest.raises(ServingError, match=message):
        hours.predict([row, {**row, **change}])


def test_refused_rows_differ_from_failures(hours):
    with pytest.raises(RefusedError, match="`age` is no finite number"):
        hours.predict([{"age": math.inf, "hours-per-week": 40.0, "job": "clerk"}])


def test_damage_is_found(models, tmp_path):
    shutil.copytree(models / "reports/9", tmp_path / "9")
    (tmp_path / "9/saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(ServingError, match="cannot load the SavedModel"):
        local.load(str(tmp_path / "9"))
    files.write_manifest(tmp_path / "9")
    (tmp_path / "9/saved_model.pb").write_bytes(b"\xff")
    with pytest.raises(DataError, match="saved_model.pb: the file has another size"):
        local.load(str(tmp_path / "9"))
