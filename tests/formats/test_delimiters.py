"""Detection of the delimiter of a table."""

import csv

import pytest

from tfattn.formats.delimiters import likely_delimiter


@pytest.mark.parametrize(
    ("lines", "columns", "delimiter"),
    [
        (["Id;Text", "1;a, b", "2;c"], ["Text"], ";"),
        (["Id,Text", "1,a; b", "2,c"], ["Text"], ","),
        (["a\tb", "c\td"], ["1", "2"], "\t"),
        (["Id|Text", '1|"two', 'lines"', "2|cut in the mid"], ["Text"], "|"),
        (["a;b,c", "d;e,f"], ["b,c"], ";"),  # both divide; one finds a column
        (["a;b,c", "d;e,f"], ["a;b"], ","),
        (["Text", "loud; hot", "wet"], ["Text"], None),
        (["one sentence, and more", "another"], ["Text"], None),
        ([], ["Text"], None),
    ],
)
def test_the_delimiter_splits_lines_equally_and_finds_columns(lines, columns, delimiter):
    assert likely_delimiter([f"{line}\n" for line in lines], columns) == delimiter


def test_a_too_long_field_is_not_an_error():
    limit = csv.field_size_limit()
    assert likely_delimiter(["a;b\n", "c" * limit + ";" + "d" * limit], ["a"]) == ";"
