"""Raw rows: exact round trip, or an error."""

import base64
import json

import numpy as np
import pytest

from tfattn import files
from tfattn.data.sources.raw_rows import line_of_row, read_leaked, read_rows
from tfattn.errors import DataError
from tfattn.formats.source import Row

TEXTS = ["plain", "a\u2028line\x85separator\x1c", '"é"', "two\nlines"]


@pytest.fixture
def folder(tmp_path):
    with files.atomic_folder(tmp_path / "prepared") as new:
        rows = [Row({"text": text}, f"a.csv:{number}") for number, text in enumerate(TEXTS)]
        (new / "test.jsonl").write_text("".join(map(line_of_row, rows)), encoding="utf-8")
        np.save(new / "test.leaked.npy", np.array([False, True, False, False]))
    return tmp_path / "prepared"


def test_rows_of_any_content_round_trip(folder):
    assert read_rows(folder, "test") == [{"row": f"a.csv:{n}", "text": text} for n, text in enumerate(TEXTS)]


def test_files_are_returned_as_bytes(tmp_path):
    data = bytes(range(256))
    with files.atomic_folder(tmp_path / "prepared") as new:
        line = line_of_row(Row({"image": data, "label": "a"}, "a.png"))
        (new / "test.jsonl").write_text(line, encoding="utf-8")
    assert json.loads(line)["image"] == {"b64": base64.b64encode(data).decode()}
    assert read_rows(tmp_path / "prepared", "test") == [{"row": "a.png", "image": data, "label": "a"}]


def test_rows_that_repeat_training_rows_are_marked(folder):
    assert read_leaked(folder, "test").tolist() == [False, True, False, False]


def test_a_changed_row_is_refused(folder):
    path = folder / "test.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("plain", "prain"), encoding="utf-8")
    with pytest.raises(DataError, match="test.jsonl: the file's SHA-256 differs.*tfattn prepare PIPELINE --force"):
        read_rows(folder, "test")
