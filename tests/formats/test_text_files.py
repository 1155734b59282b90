"""Text files: reading by lines within limits; only regular files are opened."""

import os
import socket

import pytest

from tfattn.errors import DataError
from tfattn.formats.text_files import fingerprint, lines


@pytest.fixture
def write(tmp_path):
    def written(content: bytes):
        path = tmp_path / "rows.txt"
        path.write_bytes(content)
        return path

    return written


def message(path, encoding="utf-8", **options):
    with pytest.raises(DataError) as error:
        list(lines(path, encoding, **options))
    return str(error.value)


@pytest.mark.parametrize("kind", ["a named pipe", "a socket", "a folder", "a device"])
def test_a_path_that_is_not_a_file_is_refused_before_opening(tmp_path, monkeypatch, kind):
    path = tmp_path / "rows"
    if kind == "a named pipe":
        os.mkfifo(path)
    elif kind == "a socket":
        monkeypatch.chdir(tmp_path)  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    elif kind == "a folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    expected = (
        f"rows: not a regular file: expected a regular file, which can be read several times, received {kind}. Name"
    )
    assert expected in message(path)
    with pytest.raises(DataError, match=f"not a regular file.*{kind}"):
        fingerprint(path)


@pytest.mark.parametrize(("end", "ends"), [("", ["\n", "\r\n", "\r"]), ("\n", ["\n", "\r\n"])])
def test_a_line_may_have_the_maximum_length_with_any_line_end(write, end, ends):
    for mark in ends:
        path = write(f"12345{mark}12{mark}".encode())
        assert list(lines(path, "utf-8", end=end, longest=5)) == [f"12345{mark}", f"12{mark}"]
        path = write(f"12{mark}123456{mark}".encode())
        assert f"{path}:2: the line is too long: expected at most 5 characters" in message(path, end=end, longest=5)


def test_lines_are_read_up_to_the_limit(write):
    path = write(b"")
    with open(path, "r+b") as file:
        file.truncate(1 << 40)  # no disk has that much room: it is all NUL, and none of it is stored
    assert f"{path}:1: the row cannot be decoded: expected utf-8 text, received a NUL character" in message(path)


def test_all_leading_byte_order_marks_are_skipped(write):
    assert list(lines(write("\ufeff\ufeffa\n\ufeffb".encode()), "utf-8")) == ["a\n", "\ufeffb"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "gb18030", "shift_jis"])
@pytest.mark.parametrize("at", [0, 1, 10_000])
def test_the_line_that_cannot_be_decoded_is_found_without_reading_the_whole(write, encoding, at):
    good = "".join(f"line {number} 水\n" for number in range(at)).encode(encoding)
    bad = b"\x00\xdc\x00\xdc\n" if encoding == "utf-16" else b"\xff\xff\n"
    if encoding == "utf-16" and not good:
        good = b"\xff\xfe"
    path = write(good + bad)
    assert f"{path}:{at + 1}: the row cannot be decoded: expected {encoding} text, received byte 0x" in message(
        path, encoding
    )
