"""Recognition of binary files: each kind has a remedy, and text is never mistaken for a kind."""

import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile
import zipfile

import numpy as np
import pytest
from matplotlib.figure import Figure

from tfattn.errors import DataError
from tfattn.formats.text_files import lines

TEXT = b"Description,Category\nPump leaks,Leak\n"


def archive(*names):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name in names:
            file.writestr(name, TEXT)
    return content.getvalue()


def tape():
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as file:
        file.addfile(tarfile.TarInfo("reports.csv"))
    return content.getvalue()


def picture(kind):
    content = io.BytesIO()
    Figure(figsize=(1, 1)).savefig(content, format=kind)
    return content.getvalue()


def database(path):
    with sqlite3.connect(path / "rows.db") as rows:
        rows.execute("create table reports (description text)")
    return (path / "rows.db").read_bytes()


def message(path, encoding="utf-8"):
    with pytest.raises(DataError) as error:
        list(lines(path, encoding))
    return str(error.value)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
@pytest.mark.parametrize(
    ("content", "kind", "remedy"),
    [
        (archive("[Content_Types].xml", "xl/workbook.xml"), "a workbook of Excel (.xlsx)", "Read it as `excel`"),
        (archive("docProps/app.xml", "xl/workbook.xml"), "a workbook of Excel (.xlsx)", "Read it as `excel`"),
        (archive("reports.csv"), "a ZIP archive", "Unpack it"),
        (gzip.compress(TEXT), "a file compressed by gzip", "Let its name end in .gz, or unpack it"),
        (bz2.compress(TEXT), "a file compressed by bzip2", "Let its name end in .bz2, or unpack it"),
        (lzma.compress(TEXT), "a file compressed by xz", "Unpack it"),
        (tape(), "a tar archive", "Unpack it"),
        (picture("png"), "an image", "Check `path`"),
        (picture("pdf"), "a PDF document", "Save it as text"),
        (b"PAR1\x15\x04\x15", "a Parquet file", "Read it as `parquet`"),
        (b"version https://git-lfs.github.com/spec/v1\noid ...", "a pointer of Git LFS", "git lfs pull"),
    ],
    ids=lambda value: "content" if isinstance(value, bytes) else value,  # some contents hold the time
)
def test_each_kind_is_named_for_any_encoding(tmp_path, content, kind, remedy, encoding):
    path = tmp_path / "reports.csv"
    path.write_bytes(content)
    found = message(path, encoding)
    assert f"reports.csv: the file is not text: expected rows of text, received what seems to be {kind}" in found
    assert remedy in found


def test_a_database_is_named(tmp_path):
    path = tmp_path / "reports.csv"
    path.write_bytes(database(tmp_path))
    assert "what seems to be an SQLite database" in message(path)


@pytest.mark.parametrize("start", ["PK", "BZh", "PAR", "%PDF", "GIF", "Obj", "version https", "\x1f", "7z"])
def test_text_with_similar_first_bytes_is_read(tmp_path, start):
    path = tmp_path / "reports.csv"
    path.write_text(f"{start},Category\n")
    assert list(lines(path, "utf-8")) == [f"{start},Category\n"]


@pytest.mark.parametrize(
    ("written", "stated"),
    [
        ("utf-16", "utf-8"),
        ("utf-16-le", "utf-8"),
        ("utf-16-be", "utf-8"),
        ("utf-16-be", "latin-1"),
        ("utf-32", "utf-8"),
        ("utf-8", "utf-16"),
        ("utf-8", "ascii"),
    ],
)
def test_the_likely_encoding_is_named(tmp_path, written, stated):
    path = tmp_path / "reports.csv"
    path.write_bytes("Description,Category\nPumpe läuft heiß,Leck\n".encode(written))
    assert message(path, stated).endswith(f"The file seems to be {written}: set `encoding: {written}`.")
    assert len(list(lines(path, written))) == 2


def test_a_reversed_byte_order_mark_is_detected(tmp_path):
    path = tmp_path / "reports.csv"
    path.write_bytes(b"\xfe\xff" + "text\n".encode("utf-16-be"))
    assert message(path, "utf-16-le").endswith("The file seems to be utf-16: set `encoding: utf-16`.")


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_single_nul_has_a_remedy(tmp_path, encoding):
    path = tmp_path / "reports.csv"
    path.write_bytes(TEXT * 500 + b"Pump\0,Leak\n")
    assert message(path, encoding).endswith(
        f"reports.csv:1001: the row cannot be decoded: expected {encoding} text, received a NUL character. "
        "Remove it, or check that the file is text."
    )


def test_ambiguous_bytes_have_no_likely_encoding(tmp_path):
    path = tmp_path / "reports.csv"
    for content in (np.random.default_rng(1).bytes(500), "heiß".encode("cp1252"), "泵漏水".encode("gb18030")):
        path.write_bytes(content)
        assert "set `encoding: " not in message(path)
