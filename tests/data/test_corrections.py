"""Corrected labels: each correction changes its row only, and a file that does not fit is an error."""

import pytest

from tfattn.data.corrections import Corrections
from tfattn.errors import DataError
from tfattn.formats.source import Row


def row(line, label, id=None):
    return Row({"text": "a", "label": label, **({} if id is None else {"id": id})}, f"rows.csv:{line}")


def corrections(tmp_path, text):
    (tmp_path / "corrections.csv").write_text(text)
    return Corrections(str(tmp_path / "corrections.csv"))


def test_labels_are_corrected_by_location(tmp_path):
    made = corrections(tmp_path, "row,given,label,text\nrows.csv:2,x,y,a\nrows.csv:4,x,,b\n")
    assert made.apply(row(2, " x ")).fields == {"text": "a", "label": "y"}
    assert made.apply(row(4, "x")).fields["label"] == ""
    assert made.apply(other := row(3, "x")) is other and made.has(row(2, "x")) and not made.has(other)


def test_labels_are_corrected_by_identifier(tmp_path):
    made = corrections(tmp_path, "id,label\nC7,y\n")
    assert made.apply(row(9, "x", id="C7")).fields["label"] == "y"
    made.check_all_found(["C7"])
    with pytest.raises(DataError, match="rows that do not exist: expected the id of a row, received C7"):
        made.check_all_found([])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("row,given,label\nrows.csv:2,z,y\n", "is not the label that .* corrects: expected 'z', received 'x'"),
        ("row,label\nrows.csv:2,y\nrows.csv:2,x\n", "a row is corrected twice: received row 'rows.csv:2'"),
        (
            "line,label\n2,y\n",
            "the corrections lack a column: expected `label`, and `id` or `row`, received line, label",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_an_error(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        corrections(tmp_path, text).apply(row(2, "x"))


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="there is no file of corrections"):
        Corrections(str(tmp_path / "none.csv")).fingerprint()
