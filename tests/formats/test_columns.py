"""Lists of texts from the columns of a table."""

import pytest

from tfattn.formats.columns import as_columns, columns_in, even, value_of

ROW = {"begin": "He", "a": "sits.", "b": "runs.", "c": " "}
ENDINGS = [["begin", "a"], ["begin", "b"], ["begin", "c"]]


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("a", "sits."),
        (["a", "b"], ["sits.", "runs."]),
        (ENDINGS, ["He sits.", "He runs."]),
        (["a", "c", "b", "c"], ["sits.", " ", "runs."]),
        (["c"], []),
    ],
)
def test_a_value_is_a_text_or_texts_without_trailing_empty_texts(columns, value):
    assert value_of(columns, ROW.get) == value


def test_column_numbers_are_converted_to_names():
    assert as_columns([1, [2, "x"]]) == ["1", ["2", "x"]]
    assert list(columns_in(ENDINGS)) == ["begin", "a", "begin", "b", "begin", "c"]


def test_lists_are_padded_and_texts_unchanged():
    assert even([["a"], [], ["b", "c"]]) == [["a", ""], ["", ""], ["b", "c"]]
    assert even(["a", ""]) == ["a", ""]
