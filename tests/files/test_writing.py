"""Atomic writing, also if the writer is killed; the choice of formats by suffix."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tfattn import files
from tfattn.errors import ConfigError, TfattnError

# In folders 0, 1, 2, ...: replaces x.txt and data/ and removes gone/, in a process that kills itself at its first,
# second, third, ... call to the file system, until one comes to its end.
KILLED = """
import itertools, os, signal
from tfattn import files

def work():
    files.write_text("x.txt", "new")
    with files.atomic_folder("data") as folder:
        (folder / "inner").mkdir()
        (folder / "inner" / "a.txt").write_text("new")
    files.remove_folder("gone")

def killing(call, left):
    def called(*arguments, **named):
        if next(left) == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **named)
    return called

for calls in itertools.count():
    os.mkdir(str(calls))
    os.chdir(str(calls))
    files.write_text("x.txt", "old")
    for name in ("data", "gone"):
        with files.atomic_folder(name) as folder:
            (folder / "a.txt").write_text("old")
    child = os.fork()
    if child == 0:
        left = itertools.count(calls, -1)
        for name in ("mkdir", "rename", "replace", "fsync", "rmdir", "unlink", "open"):
            setattr(os, name, killing(getattr(os, name), left))
        work()
        os._exit(0)
    os.chdir("..")
    if os.waitpid(child, 0)[1] == 0:
        break
"""


def test_a_file_is_replaced_only_by_a_complete_file(tmp_path):
    target = tmp_path / "deep" / "x.txt"
    files.write_text(target, "old")
    with pytest.raises(RuntimeError), files.atomic_file(target) as path:
        path.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old"
    assert os.listdir(target.parent) == ["x.txt"]


def test_a_folder_is_replaced_only_by_a_complete_folder(tmp_path):
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


def test_a_link_is_replaced(tmp_path):
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        files.atomic_link(tmp_path / "latest", name)
        assert os.readlink(tmp_path / "latest") == name
    assert sorted(os.listdir(tmp_path)) == ["first", "latest", "second"]


def test_a_killed_writer_leaves_nothing_incomplete(tmp_path, monkeypatch):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", KILLED], env=environment, cwd=tmp_path, check=True)
    killed = sorted(map(int, os.listdir(tmp_path)))
    assert len(killed) > 20
    hidden = 0
    for number in killed:
        monkeypatch.chdir(tmp_path / str(number))
        assert Path("x.txt").read_text() in ("old", "new")
        for name in ("data", "gone"):
            if Path(name).exists():
                files.verify(name)
        hidden += len(os.listdir()) > 3
        files.write_text("next.txt", "")
        assert {"next.txt", "x.txt"} <= set(os.listdir()) <= {"next.txt", "x.txt", "data", "gone"}
    assert hidden > 10, "there was something to clear up"


def test_a_full_disk_is_reported_and_the_old_file_stays(tmp_path):
    target = tmp_path / "x.txt"
    files.write_text(target, "old")
    with pytest.raises(TfattnError, match="no space left on the disk.*are unchanged"), files.atomic_file(target):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert target.read_text() == "old"


def test_an_unwritable_folder_is_reported(tmp_path):
    (tmp_path / "x.csv").mkdir()
    with pytest.raises(TfattnError, match=r"x.csv: cannot write here \(Is a directory\)"):
        files.write_text(tmp_path / "x.csv", "new")
    files.write_text(tmp_path / "file", "in the way of a folder")
    with pytest.raises(TfattnError, match=r"a.txt: cannot write here \(File exists\)"):
        files.write_text(tmp_path / "file" / "a.txt", "new")


@pytest.mark.parametrize(("path", "kind"), [("a.csv", 1), ("folder.x/a.b.TSV", 2)])
def test_the_suffix_chooses_the_format(path, kind):
    assert files.by_suffix(path, {".csv": 1, ".tsv": 2}) == kind


@pytest.mark.parametrize(
    ("path", "received"), [("a.html", "'.html'"), ("csv", "none"), (".csv", "none"), ("-", "none")]
)
def test_an_unknown_suffix_lists_the_suffixes(path, received):
    with pytest.raises(ConfigError, match=f"expected one of .csv, .tsv, received {received}"):
        files.by_suffix(path, {".csv": 1, ".tsv": 2})
