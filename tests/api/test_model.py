"""A loaded model predicts DataFrames, lists and dictionaries alike."""

import pandas as pd
import pytest

import tfattn
from tests.serving import authors
from tfattn.errors import DataError, ServingError

TEXTS = ["Coolant is pooling underneath sorter.", "Sorter blows fuses at start up."]


@pytest.fixture(scope="module")
def model(finished):
    folder, _ = finished
    return tfattn.load("tiny", folder=folder / "saved_models")


def test_rows_of_all_kinds_have_the_same_predictions(model):
    frame = model.predict(TEXTS)
    assert list(frame.columns[:3]) == ["label", "label_id", "score"] and len(frame) == 2
    assert frame["label"][0] in {column.removeprefix("scores.") for column in frame}
    named = pd.DataFrame({"id": [1, 2], "Description": TEXTS}, index=["a", "b"])
    found = model.predict(named, batch_size=1)
    assert list(found.index) == ["a", "b"]
    pd.testing.assert_frame_equal(found.reset_index(drop=True), frame, rtol=1e-5)
    for rows in ([{"text": text} for text in TEXTS], named["Description"]):
        pd.testing.assert_frame_equal(model.predict(rows).reset_index(drop=True), frame)
    pd.testing.assert_frame_equal(model.predict({"text": TEXTS[0]}), frame[:1], rtol=1e-5)


def test_no_rows_have_no_predictions(model):
    assert len(model.predict([])) == 0


def test_a_frame_with_other_columns_is_one_error(model):
    with pytest.raises(
        DataError, match="tiny: the rows lack columns.*expected Description or text, received Text, id.*`Text`"
    ):
        model.predict(pd.DataFrame({"Text": TEXTS, "id": [1, 2]}))
    with pytest.raises(DataError, match="row 1: the row lacks a column: expected 'Description'"):
        model.predict([{"text": "a"}, {"txt": "b"}])


def test_it_shows_its_inputs(model):
    assert repr(model) == "<Model tiny: text>" and "<td>text</td>" in model._repr_html_()


def test_an_unknown_name_lists_the_exports(finished):
    with pytest.raises(ServingError, match="tiny"):
        tfattn.load("tiniest", folder=finished[0] / "saved_models")


def test_generated_text_is_a_column(once):
    authored = tfattn.load(authors.NAME, folder=once("authors", authors.write))
    frame = authored.predict(["To be"])
    assert list(frame.columns)[0] == "text" and isinstance(frame["text"][0], str)
