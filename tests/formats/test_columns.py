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
def test_a_value_is_a_text_or_texts_without_empty_ones_at_the_end(columns, value):
    assert value_of(columns, ROW.get) == value


def test_columns_are_names_whatever_they_are_written_as():
    assert as_columns([1, [2, "x"]]) == ["1", ["2", "x"]]
    assert list(columns_in(ENDINGS)) == ["begin", "a", "begin", "b", "begin", "c"]


def test_lists_become_equally_long_and_texts_stay():
    assert even([["a"], [], ["b", "c"]]) == [["a", ""], ["", ""], ["b", "c"]]
    assert even(["a", ""]) == ["a", ""]
