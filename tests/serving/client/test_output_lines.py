"""The same lines as JSON, as a table, and as texts alone."""

import csv
import io
import json

import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.serving.client import output_lines
from tfattn.serving.client.output_lines import FailedRow

openpyxl = pytest.importorskip("openpyxl")
parquet = pytest.importorskip("pyarrow.parquet")

CLASSIFIED = [
    FailedRow(text='a "b"', error="new.csv:2: no"),
    {"text": "c,\td\ne", "label": "Leck", "score": 0.5, "scores": {"Leck": 0.5, "Öl": 0.25}, "attention": [1.0, 0.5]},
    {"text": "", "label": "Öl", "score": 1.0, "scores": {"Leck": 0.0, "Öl": 1.0}, "attention": [], "empty": True},
]


def written(output, lines, **options):
    return "".join(output_lines.format_of(output, **options)(lines))


@pytest.mark.parametrize("output", ["-", "out.jsonl", "OUT.JSONL"])
def test_an_object_a_line(output):
    assert [json.loads(line) for line in written(output, CLASSIFIED).splitlines()] == CLASSIFIED


@pytest.mark.parametrize(("output", "delimiter"), [("out.csv", ","), ("out.tsv", "\t")])
def test_a_table_has_a_column_for_each_value_of_any_line(output, delimiter):
    header, *rows = csv.reader(io.StringIO(written(output, CLASSIFIED, arrays=True), newline=""), delimiter=delimiter)
    assert header == ["text", "label", "score", "scores.Leck", "scores.Öl", "attention", "empty", "error"]
    assert rows == [
        ['a "b"', "", "", "", "", "", "", "new.csv:2: no"],
        ["c,\td\ne", "Leck", "0.5", "0.5", "0.25", "[1.0, 0.5]", "", ""],
        ["", "Öl", "1.0", "0.0", "1.0", "[]", "true", ""],
    ]


def test_a_table_leaves_out_arrays_but_not_what_goes_with_texts():
    assert "attention" not in written("out.csv", CLASSIFIED).splitlines()[0].split(",")
    assert json.loads(written("out.jsonl", CLASSIFIED).splitlines()[1])["attention"] == [1.0, 0.5]
    tagged = [{"text": "x", "entities": ["Bonn"], "start": [0], "score": [0.5], "vectors": [[1.0, 2.0]]}]
    assert written("out.csv", tagged).splitlines()[0] == "text,entities,start,score,empty,error"


def test_a_table_is_written_line_by_line():
    read = []

    def lines():
        for number in range(9):
            read.append(number)
            yield {"text": "x"}

    table = output_lines.format_of("out.csv")(lines())
    next(table), next(table)
    assert len(read) == 1


def read_excel(data):
    header, *rows = openpyxl.load_workbook(io.BytesIO(data)).active.values
    return header, rows


def read_parquet(data):
    table = parquet.read_table(io.BytesIO(data))
    return tuple(table.column_names), [tuple(row.values()) for row in table.to_pylist()]


@pytest.mark.parametrize(("output", "read"), [("out.xlsx", read_excel), ("out.parquet", read_parquet)])
def test_workbooks_and_parquet_have_the_columns_of_a_table_with_numbers(output, read):
    lines = [*CLASSIFIED, {**CLASSIFIED[1], "text": "=1+1", "label": "\x01"}]
    [data] = output_lines.format_of(output)(lines)
    header, rows = read(data)
    assert header == ("text", "label", "score", "scores.Leck", "scores.Öl", "empty", "error")
    assert rows[0] == ('a "b"', None, None, None, None, None, "new.csv:2: no")
    assert rows[1] == ("c,\td\ne", "Leck", 0.5, 0.5, 0.25, None, None)
    assert rows[2][1:] == ("Öl", 1, 0, 1, True, None)
    assert rows[3][:2] == ("=1+1", "\ufffd" if output == "out.xlsx" else "\x01")


def test_columns_of_several_types_become_text_in_parquet():
    [data] = output_lines.format_of("out.parquet")([{"a": 1, "b": ["x"]}, {"a": "two", "b": []}])
    assert read_parquet(data) == (("a", "b", "empty", "error"), [("1", ["x"], None, None), ("two", [], None, None)])


def test_a_sheet_has_at_most_a_million_rows(monkeypatch):
    monkeypatch.setattr(output_lines, "MAX_SHEET_ROWS", 3)
    assert len(read_excel(*output_lines.format_of("out.xlsx")([{"a": 1}] * 2))[1]) == 2
    with pytest.raises(DataError, match="a sheet cannot have more rows"):
        list(output_lines.format_of("out.xlsx")([{"a": 1}] * 3))


@pytest.mark.parametrize("output", ["out.xlsx", "out.parquet"])
def test_a_package_that_is_not_installed_is_named(output, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=f"{output}: the package .* is not installed. Run: pip install"):
        output_lines.format_of(output)


def test_a_table_without_any_answer_still_has_its_lines():
    assert written("out.csv", [FailedRow(text="a", error="no")] * 2) == "text,error,empty\na,no,\na,no,\n"
    assert written("out.csv", []) == ""


def test_texts_keep_to_their_lines():
    lines = [{"source": "a", "text": "b\u2028c\nd"}, FailedRow(source="e", error="no"), {"source": "", "text": ""}]
    assert written("out.txt", lines) == "b c d\n\n\n"


@pytest.mark.parametrize("output", ["out.html", "out", "/dev/null", ".csv"])
def test_what_nobody_writes_is_refused(output):
    with pytest.raises(ConfigError, match=r"unknown file format: expected one of \.jsonl, \.csv"):
        output_lines.format_of(output)
