"""JSON lines: every value as text, and errors with file and row."""

import json

import pytest

from tfattn.errors import DataError
from tfattn.formats.jsonl_files import JsonLinesFile
from tfattn.formats.limits import MAX_TEXT_LENGTH


@pytest.fixture
def source(tmp_path):
    def write(content, encoding="utf-8"):
        path = tmp_path / "reports.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return JsonLinesFile(path=str(path), fields={"text": "description", "label": "category"}, encoding=encoding)

    return write


def line(text, label):
    return json.dumps({"id": 1, "description": text, "category": label}) + "\n"


def test_values_become_text_and_blank_lines_are_skipped(source):
    content = "\ufeff" + line("a\nb 泵", "Leak") + "\n" + line("c", 3) + line("d", True) + line(None, 0.5)
    rows = list(source(content).rows())
    assert [(row.fields["text"], row.fields["label"]) for row in rows] == [
        ("a\nb 泵", "Leak"),
        ("c", "3"),
        ("d", "true"),
        ("", "0.5"),
    ]
    assert [row.where.rpartition(":")[2] for row in rows] == ["1", "3", "4", "5"]


@pytest.mark.parametrize(
    "content, expected",
    [
        ("", "reports.jsonl: the file is empty"),
        ("\n \n", "reports.jsonl: the file holds no rows"),
        (line("a", "b") + "{'a': 1}\n", r"reports.jsonl:2: the row is not JSON \(Expecting property name"),
        ("[" * 100_000 + "\n", "reports.jsonl:1: the row is not JSON"),
        (
            '[\n{"description": "a", "category": "b"}\n]\n',
            r"reports.jsonl:1: the row is not JSON .* `jq -c '.\[\]'` for a list of objects",
        ),
        ('["a"]\n', r"reports.jsonl:1: the row is not an object: .* received \[\"a\"\]"),
        (
            '{"Description": "a", "category": "b"}\n',
            "a key is missing: expected one of Description, category, received 'description'. "
            "Did you mean `Description`?",
        ),
        (line("\ud83d", "b"), "reports.jsonl:1: the value of 'description' has half of a surrogate pair"),
        (line("ok", "b").encode() + b'{"description": "\xff"}\n', "reports.jsonl:2: the row cannot be decoded"),
    ],
)
def test_unreadable_lines_are_located(source, content, expected):
    with pytest.raises(DataError, match=expected):
        list(source(content).rows())


def test_a_value_beyond_the_limit_is_located(source):
    content = line("a", "b") + line("x" * (MAX_TEXT_LENGTH + 1), "b")
    with pytest.raises(DataError, match="jsonl:2: the value of 'description' is too long: expected at most 1,048,576"):
        list(source(content).rows())


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="none.jsonl: cannot read the file .No such file or directory"):
        list(JsonLinesFile(path=str(tmp_path / "none.jsonl"), fields={"text": "a"}).rows())
