"""Rows in, answers out, by the SavedModel alone."""

import shutil

import pytest

from tfattn import files
from tfattn.errors import DataError, ServingError
from tfattn.serving import engine


@pytest.fixture(scope="module")
def reports(models):
    return engine.load("reports", models)


def test_a_row_is_answered_with_label_and_scores(reports):
    short, long = reports.answer([{"text": "é"}, {"text": "x" * 30, "other": "not read"}])
    assert short["label"] == "Électronique" and short["label_id"] == 1
    assert short["score"] == short["scores"]["Électronique"] == pytest.approx(10 / 11)
    assert list(long["scores"]) == ["Leak", "Électronique"] and long["label"] == "Leak"
    assert reports.answer([]) == []


def test_inputs_are_known_by_name(reports, models):
    assert reports.inputs == ("text",)
    assert reports.columns == {"text": "Description text"}
    pairs = engine.load("pairs", models)
    assert pairs.inputs == ("text_a", "text_b")
    assert pairs.answer([{"text_b": "b" * 9, "text_a": "a" * 9}])[0]["label"] == "Leak"


def test_a_missing_input_is_named(reports):
    with pytest.raises(ServingError, match="expected text, received texts"):
        reports.answer([{"texts": "x"}])


def test_damage_is_found(models, tmp_path):
    shutil.copytree(models / "reports/9", tmp_path / "9")
    (tmp_path / "9/saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(ServingError, match="cannot load the SavedModel"):
        engine.load(str(tmp_path / "9"))
    files.write_manifest(tmp_path / "9")
    (tmp_path / "9/saved_model.pb").write_bytes(b"\xff")
    with pytest.raises(DataError, match="saved_model.pb: the file is cut or grown"):
        engine.load(str(tmp_path / "9"))
