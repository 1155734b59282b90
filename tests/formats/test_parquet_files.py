"""Parquet files: values, columns, and errors."""

import datetime

import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.formats.parquet_files import ParquetFile

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def write(tmp_path):
    def write(rows):
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "a.parquet", row_group_size=2)
        return str(tmp_path / "a.parquet")

    return write


def test_values_equal_those_of_json_lines(write):
    path = write(
        [
            {"text": "é\n", "number": 2.5, "day": datetime.date(2026, 1, 2), "truth": True, "texts": ["a", "b"]},
            {"text": None, "number": None, "day": None, "truth": False, "texts": []},
            {"text": "c", "number": 3.0, "day": None, "truth": None, "texts": ["d"]},
        ]
    )
    names = ("text", "number", "day", "truth", "texts")
    rows = list(ParquetFile(path=path, fields={name: name for name in names}).rows())
    assert [tuple(row.fields.values()) for row in rows] == [
        ("é\n", "2.5", "2026-01-02", "true", ["a", "b"]),
        ("", "", "", "false", []),
        ("c", "3.0", "", "", ["d"]),
    ]
    assert rows[2].where == f"{path}:3"


def test_several_columns_are_lists_of_texts(write):
    path = write([{"a": "He", "b": "sits", "c": "runs"}])
    (row,) = ParquetFile(path=path, fields={"choices": [["a", "b"], "c"]}).rows()
    assert row.fields == {"choices": ["He sits", "runs"]}


def test_invalid_files_are_reported(write, tmp_path, monkeypatch):
    path = write([{"text": "a", "data": b"\0"}])
    with pytest.raises(DataError, match="there is no column for `text`: expected one of text, data, received"):
        list(ParquetFile(path=path, fields={"text": "txt"}).rows())
    with pytest.raises(DataError, match="a.parquet:1: the value of 'data' is bytes"):
        list(ParquetFile(path=path, fields={"text": "data"}).rows())
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    with pytest.raises(DataError, match="b.parquet: the file cannot be read as Parquet"):
        list(ParquetFile(path=str(tmp_path / "b.parquet"), fields={"text": "text"}).rows())
    with pytest.raises(DataError, match="none.parquet: cannot read the file"):
        list(ParquetFile(path=str(tmp_path / "none.parquet"), fields={"text": "text"}).rows())
    with pytest.raises(DataError, match="the file holds no rows"):
        parquet.write_table(pyarrow.table({"text": pyarrow.array([], "string")}), path)
        list(ParquetFile(path=path, fields={"text": "text"}).rows())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'tfattn\[parquet\]'"):
        ParquetFile(path=path, fields={"text": "text"})
