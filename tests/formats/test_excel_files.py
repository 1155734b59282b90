"""Sheets of Excel workbooks: values, columns, and what is wrong with a file."""

import datetime

import pytest

from tfattn.errors import ConfigError, DataError
from tfattn.formats.excel_files import ExcelFile

openpyxl = pytest.importorskip("openpyxl")


@pytest.fixture
def write(tmp_path):
    def write(*rows, **sheets):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        for name, others in sheets.items():
            sheet = book.create_sheet(name)
            for row in others:
                sheet.append(row)
        book.save(tmp_path / "a.xlsx")
        return str(tmp_path / "a.xlsx")

    return write


def test_values_become_text(write):
    header = ("text", "number", "count", "day", "time", "truth", None)
    path = write(
        header,
        ("é\n", 2.5, 3.0, datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4), True, "left out"),
        (),
        ("=", None, 10**6, None, None, False),
    )
    rows = list(ExcelFile(path=path, fields={name: name for name in header if name}).rows())
    assert [tuple(row.fields.values()) for row in rows] == [
        ("é\n", "2.5", "3", "2026-01-02", "2026-01-02 03:04:00", "true"),
        ("=", "", "1000000", "", "", "false"),
    ]
    assert [row.where for row in rows] == [f"{path}:2", f"{path}:4"]  # the numbers of rows that Excel shows


def test_a_sheet_is_read_by_its_name(write):
    path = write(("text",), ("first",), notes=[("text",), ("second",)])
    assert [row.fields for row in ExcelFile(path=path, fields={"text": "text"}).rows()] == [{"text": "first"}]
    notes = ExcelFile(path=path, fields={"text": "text"}, sheet="notes")
    assert [row.fields for row in notes.rows()] == [{"text": "second"}]
    assert notes.format.options == {"sheet": "notes"}
    with pytest.raises(DataError, match="no such sheet: expected one of Sheet, notes, received 'note'"):
        list(ExcelFile(path=path, fields={"text": "text"}, sheet="note").rows())


def test_what_is_wrong_is_reported(write, tmp_path, monkeypatch):
    path = write(("text", "text", "label"), ("a", "b", "c"))
    with pytest.raises(DataError, match="several columns are called 'text': expected one, for `text`"):
        list(ExcelFile(path=path, fields={"text": "text"}).rows())
    with pytest.raises(DataError, match="the file holds no rows"):
        list(ExcelFile(path=write(("text",)), fields={"text": "text"}).rows())
    (tmp_path / "b.xlsx").write_text("text,label")
    with pytest.raises(DataError, match="b.xlsx: the file cannot be read as an Excel workbook"):
        list(ExcelFile(path=str(tmp_path / "b.xlsx"), fields={"text": "text"}).rows())
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'tfattn\[excel\]'"):
        ExcelFile(path=path, fields={"text": "text"})
