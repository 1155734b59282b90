"""Each kind of input file, and what can be wrong with one."""

import io
import sys

import pytest

from tfattn.errors import DataError
from tfattn.serving import inputs

ONE = {"text": "Description"}
TWO = {"text_a": "text_a", "text_b": "text_b"}


@pytest.fixture
def read(tmp_path):
    def read(name, content, columns=ONE, **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        rows = list(inputs.read(str(path), columns, **options))
        return [tuple(row.fields.values()) for row in rows], [row.where.rsplit(":")[-1] for row in rows]

    return read


def test_text_lines_keep_their_number(read):
    rows, where = read("new.txt", b'\xef\xbb\xbfone\r\n\ntwo, "three"\n')
    assert rows == [("one",), ("",), ('two, "three"',)]
    assert where == ["1", "2", "3"]


def test_columns_are_found_by_input_or_as_trained(read):
    assert read("a.csv", 'Cost,text\n1,"two\nlines"\n\n2,b\n') == ([("two\nlines",), ("b",)], ["3", "5"])
    assert read("a.tsv", "Description\tCost\na, b\t1\n")[0] == [("a, b",)]
    assert read("a.csv", "Description,text\nno,yes\n")[0] == [("yes",)]
    assert read("a.csv", "text_b,text_a\nb,a\n", TWO)[0] == [("a", "b")]


def test_json_lines(read):
    rows, where = read("a.jsonl", '{"text": "a\\nb", "n": 1}\n\n{"Description": "é"}\n')
    assert rows == [("a\nb",), ("é",)]
    assert where == ["1", "3"]


def test_standard_input_of_a_stated_kind(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(b"text\none\n")

    monkeypatch.setattr(sys, "stdin", Stdin)
    (row,) = inputs.read("-", ONE, kind="csv")
    assert row.fields == {"text": "one"} and row.where == "standard input:2"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"fine\nbad \xff\n", "a.txt:2: the line is not UTF-8: received the byte 0xff at position 5. .*iconv"),
        ("a.csv", b"text\n\xe9\n", "a.csv:2: the line is not UTF-8"),
        ("a.csv", "", "a.csv: the file is empty"),
        ("a.csv", "descripton,Cost\n", "a.csv:1: .*expected text or Description, received descripton, Cost. Rename"),
        ("a.csv", "text,Cost\na,1\nb\n", "a.csv:3: the row does not fit the header: expected 2 cells, received 1"),
        ("a.csv", "text,Cost\na,b,1\n", "a.csv:2: the row does not fit the header: expected 2 cells, received 3"),
        ("a.csv", 'text,Cost\n"a,b,1\n', "a.csv:2: cannot read the row"),
        ("a.jsonl", '{"text": "a"}\n{"text": \n', "a.jsonl:2: not a line of JSON"),
        ("a.jsonl", "[" * 100_000 + "\n", "a.jsonl:1: not a line of JSON"),
        ("a.jsonl", '["a"]\n', "a.jsonl:1: not a JSON object"),
        ("a.jsonl", '{"text": 5}\n', "a.jsonl:1: the value of `text` is no text: expected a string, received 5"),
        ("a.jsonl", '{"text": "a\\ud800"}\n', "a.jsonl:1: .*a lone surrogate at position 2"),
        ("a.jsonl", '{"txt": "a"}\n', "a.jsonl:1: .*received txt. Rename `txt`"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(read, name, content, message):
    with pytest.raises(DataError, match=message):
        read(name, content)


def test_one_line_is_not_two_inputs(read):
    with pytest.raises(DataError, match="expected csv, tsv or jsonl with text_a, text_b"):
        read("a.txt", "a\n", TWO)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match="none.txt: cannot read the inputs"):
        list(inputs.read(str(tmp_path / "none.txt"), ONE))
