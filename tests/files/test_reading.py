"""Reading JSON: content is validated; errors name the file and the key."""

from dataclasses import dataclass

import pytest

from tfattn import files
from tfattn.errors import DataError


@dataclass
class Point:
    x: int
    y: float = 0.5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "p.json: the file is missing. Try again."),
        (b"", "p.json: the file is damaged: Invalid JSON"),
        (b"\0\0\0", "p.json: the file is damaged: Invalid JSON"),
        (b'{"x": 1', "p.json: the file is damaged: Invalid JSON: EOF.* line 1 column 7"),
        (b'{"x": "\xff"}', "p.json: the file is damaged: Invalid JSON"),
        (b"[" * 100_000, "p.json: the file is damaged: Invalid JSON: recursion limit"),
        (b"[1]", "p.json: the file is damaged: Input should be an object: received .1.*Try again"),
        (b'{"z": 1}', "p.json: the file is damaged: `x`: Field required"),
        (b'{"x": "1"}', "p.json: the file is damaged: `x`: Input should be a valid integer: received '1'. Try again."),
    ],
)
def test_damage_is_named(content, message, tmp_path):
    if content is not None:
        (tmp_path / "p.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        files.read_json(tmp_path / "p.json", Point, remedy="Try again.")


def test_valid_content_is_returned(tmp_path):
    (tmp_path / "p.json").write_text('{"x": 1, "more": null}')
    assert files.read_json(tmp_path / "p.json", Point) == Point(1)
    files.write_json(tmp_path / "any.json", {"nan": float("nan"), "text": "é"})
    assert files.read_json(tmp_path / "any.json")["text"] == "é"


def test_lines_end_with_line_feeds_only(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"text": "one\u2028line\x85"}\n{"text": "two"}\n', encoding="utf-8")
    assert files.read_json_lines(path, dict[str, str]) == [{"text": "one\u2028line\x85"}, {"text": "two"}]
    path.write_text('{"text": "one"}\n{"text": 2}\n')
    with pytest.raises(DataError, match="rows.jsonl:2: the file is damaged: `text`"):
        files.read_json_lines(path, dict[str, str])
    path.write_text("")
    assert files.read_json_lines(path, dict[str, str]) == []
