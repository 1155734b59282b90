"""What is written appears whole or not at all."""

import errno
import os

import pytest

from tfattn import files
from tfattn.errors import ConfigError, DataError, TfattnError


def test_a_file_is_replaced_only_when_the_new_one_is_whole(tmp_path):
    target = tmp_path / "deep" / "x.txt"
    files.write_text(target, "old")
    with pytest.raises(RuntimeError), files.atomic_file(target) as path:
        path.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert os.listdir(target.parent) == ["x.txt"]


def test_a_folder_is_replaced_only_when_the_new_one_is_whole(tmp_path):
    target = tmp_path / "data"
    with files.atomic_folder(target, rows=3) as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "a.txt").write_text("a")
    assert files.verify(target)["rows"] == 3
    with pytest.raises(RuntimeError), files.atomic_folder(target) as folder:
        (folder / "b.txt").write_text("b")
        raise RuntimeError
    assert files.verify(target)["files"].keys() == {"inner/a.txt"}
    with files.atomic_folder(target) as folder:
        (folder / "c.txt").write_text("c")
    assert sorted(os.listdir(target)) == ["c.txt", "manifest.json"]
    assert os.listdir(tmp_path) == ["data"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(b"longer than before"), "expected 1 bytes, received 18"),
        (lambda path: path.write_bytes(b"b"), "SHA-256"),
    ],
)
def test_damage_is_found_and_named(tmp_path, damage, message):
    with files.atomic_folder(tmp_path / "data") as folder:
        (folder / "a.txt").write_bytes(b"a")
    damage(tmp_path / "data" / "a.txt")
    with pytest.raises(DataError, match=message) as caught:
        files.verify(tmp_path / "data")
    assert "a.txt" in str(caught.value)


def test_a_full_disk_is_said_plainly_and_leaves_the_old_file(tmp_path):
    target = tmp_path / "x.txt"
    files.write_text(target, "old")
    with pytest.raises(TfattnError, match="no space left on the disk.*is unchanged"), files.atomic_file(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert target.read_text() == "old"


def test_a_place_that_takes_no_file_is_said_plainly(tmp_path):
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(TfattnError, match=r"x.csv: cannot write here \(Is a directory\)"):
        files.write_text(tmp_path / "x.csv", "new")


@pytest.mark.parametrize(("path", "kind"), [("a.csv", 1), ("folder.x/a.b.TSV", 2)])
def test_a_suffix_says_what_to_write(path, kind):
    assert files.by_suffix(path, {".csv": 1, ".tsv": 2}) == kind


@pytest.mark.parametrize(
    ("path", "received"), [("a.html", "'.html'"), ("csv", "none"), (".csv", "none"), ("-", "none")]
)
def test_another_suffix_names_those_that_there_are(path, received):
    with pytest.raises(ConfigError, match=f"expected one of .csv, .tsv, received {received}"):
        files.by_suffix(path, {".csv": 1, ".tsv": 2})


def test_a_folder_is_held_by_one_process(tmp_path):
    with files.lock(tmp_path), pytest.raises(TfattnError, match="another process"), files.lock(tmp_path):
        pass
    with files.lock(tmp_path):
        pass


def test_a_digest_does_not_depend_on_the_order_of_keys():
    assert files.digest({"a": 1, "b": [2]}) == files.digest({"b": [2], "a": 1}) != files.digest({"a": 1, "b": [3]})
