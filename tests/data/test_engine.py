"""Streaming preparation: the same files whatever the number of processes, and after any kill."""

import functools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tfattn import files
from tfattn.data import parts
from tfattn.data import prepare as preparing
from tfattn.data.batching import Batching
from tfattn.data.class_targets import Classes
from tfattn.data.csv_files import CsvFile
from tfattn.data.engine import Local
from tfattn.data.examples import Examples
from tfattn.data.prepare import prepare
from tfattn.data.section import Data
from tfattn.data.split import Split
from tfattn.errors import DataError, TfattnError
from tfattn.preprocessing.table import TableColumns

PART_BYTES = 256  # of about 15 rows


def write(folder, *, rows=200, changed=None):
    """A table, sorted by class."""
    lines = [f"{number % 7},{number % 5},{'no' if number < rows / 2 else 'yes'}" for number in range(rows)]
    if changed:
        lines[changed] = "old,1,no"
    (folder / "rows.csv").write_text("\n".join(["age,score,label", *lines, ""]))


def section(folder, processes=1):
    """What another process makes again: parts must be as small there."""
    parts.PART_BYTES = PART_BYTES
    return Data(
        source=CsvFile(path=str(folder / "rows.csv"), fields={"label": "label"}),
        preprocessing=TableColumns(numeric=("age", "score")),
        batching=Batching(batch_size=4),
        split=Split(validation=0.2),
        targets=Classes(),
        examples=Examples(),
        engine=Local(processes=processes),
    )


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "PART_BYTES", PART_BYTES)


def prepared(folder, name, *, processes=1, identity=""):
    make = functools.partial(section, folder, processes)
    prepare(make(), folder / name, seed=3, make=make, identity=identity)
    return files.verify(folder / name)


def test_any_number_of_processes_gives_the_same_files(tmp_path):
    write(tmp_path)
    assert prepared(tmp_path, "one") == prepared(tmp_path, "two", processes=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "rows.csv", "two"]


def test_an_error_in_another_process_is_the_same_one_message(tmp_path):
    write(tmp_path, changed=150)
    with pytest.raises(DataError, match=r"rows.csv:152: the column `age` holds no finite number"):
        prepared(tmp_path, "two", processes=2)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


KILLED = """
import sys
from pathlib import Path
from tests.data import test_engine

steps = iter(range(int(sys.argv[2]), -1, -1))
link, rename = test_engine.os.link, Path.rename

def counted(act):
    def then(*arguments):
        if next(steps) == 0:
            test_engine.os.kill(test_engine.os.getpid(), 9)
        return act(*arguments)
    return then

test_engine.os.link, Path.rename = counted(link), counted(rename)
test_engine.prepared(Path(sys.argv[1]), "killed", identity="it")
"""


def test_a_killed_preparation_goes_on_and_ends_the_same(tmp_path, monkeypatch):
    write(tmp_path)
    whole = prepared(tmp_path, "whole")
    done = []
    for moment in (0, 3, 8, 11, 5, 2, 1):  # renames and links after which it is killed, each time from where it was
        ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(moment)], capture_output=True)
        assert ended.returncode == -signal.SIGKILL
        done.append(sum(1 for path in (tmp_path / ".killed.parts").glob("*/*")))
    assert done == sorted(done) and done[-1] > done[0]
    surveyed = []
    monkeypatch.setattr(preparing, "survey", functools.wraps(preparing.survey)(lambda _, unit: surveyed.append(unit)))
    assert prepared(tmp_path, "killed", identity="it") == whole
    assert not surveyed  # what is done is not done again


def test_what_another_preparation_left_is_not_used(tmp_path):
    write(tmp_path)
    whole = prepared(tmp_path, "whole")
    (tmp_path / ".next.parts" / "survey").mkdir(parents=True)
    (tmp_path / ".next.parts" / "of-other").touch()
    assert prepared(tmp_path, "next", identity="it") == whole


def test_a_process_that_is_ended_from_outside_is_told_and_what_is_done_is_kept(tmp_path):
    write(tmp_path)
    make = functools.partial(_dying, tmp_path)
    with pytest.raises(TfattnError, match="a process that prepares data was ended from outside.*lower `data.engine"):
        prepare(section(tmp_path, 2), tmp_path / "prepared", seed=3, make=make, identity="it")
    assert (tmp_path / ".prepared.parts").is_dir()
    assert prepared(tmp_path, "prepared", identity="it") == prepared(tmp_path, "whole")


def _dying(folder: Path) -> Data:
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_end_with_the_one_that_started_them(tmp_path):
    write(tmp_path)
    script = (
        f"from pathlib import Path; from tests.data import test_engine as t; t.prepared_slowly(Path({str(tmp_path)!r}))"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL)
    begun = tmp_path / "begun"
    while not begun.exists():
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    child = int(begun.read_text())
    for _ in range(200):
        if not Path(f"/proc/{child}").exists() or "\nState:\tZ" in Path(f"/proc/{child}/status").read_text():
            return
        time.sleep(0.05)
    raise AssertionError("the process goes on")


def prepared_slowly(folder: Path) -> None:
    """Prepares with processes that take their time."""
    prepare(section(folder, 2), folder / "slow", seed=3, make=functools.partial(_slow, folder))


def _slow(folder: Path) -> Data:
    files.write_text(folder / "begun", str(os.getpid()))
    time.sleep(600)
