"""The same lines as JSON, as a table, and as texts alone."""

import csv
import io
import json

import pytest

from tfattn.errors import ConfigError
from tfattn.serving.client import output_lines
from tfattn.serving.client.output_lines import FailedRow

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
