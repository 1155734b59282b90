"""Streaming preparation: equal files for any number of processes, and after any kill."""

import functools
import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.data.small_parts import prepared, section, write
from tfattn import files
from tfattn.data.engines.local_engine import Local
from tfattn.data.preparation import prepare as preparing
from tfattn.data.preparation.prepare import prepare
from tfattn.data.section import Data
from tfattn.errors import DataError, TfattnError

ONE, TWO = Local(processes=1), Local(processes=2)


def test_the_number_of_processes_does_not_change_files(tmp_path):
    write(tmp_path)
    assert prepared(tmp_path, "one", ONE) == prepared(tmp_path, "two", TWO)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "rows.csv", "two"]


def test_processes_share_an_address(tmp_path):
    write(tmp_path)
    work_folder = f"file://{tmp_path}/work"  # a store of files, in place of gs:// or another that both reach
    assert prepared(tmp_path, "one", ONE) == prepared(tmp_path, "two", TWO, work_folder=work_folder)
    assert not list((tmp_path / "work").iterdir())


def test_an_error_in_another_process_is_a_single_message(tmp_path):
    write(tmp_path, changed=150)
    with pytest.raises(DataError, match=r"rows.csv:152: the column `age` holds no finite number"):
        prepared(tmp_path, "two", TWO)
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


KILLED = """
import os
import sys
from pathlib import Path
from tfattn import native
native.import_tensorflow()
from tests.data import small_parts
from tfattn.data.engines.local_engine import Local

steps = iter(range(int(sys.argv[2]), -1, -1))
link, rename = os.link, Path.rename

def counted(act):
    def then(*arguments):
        if next(steps) == 0:
            os.kill(os.getpid(), 9)
        return act(*arguments)
    return then

os.link, Path.rename = counted(link), counted(rename)
small_parts.prepared(Path(sys.argv[1]), "killed", Local(processes=1), identity="it")
"""


def test_a_killed_preparation_resumes_with_equal_results(tmp_path, monkeypatch):
    write(tmp_path)
    whole = prepared(tmp_path, "whole", ONE)
    done = []
    for moment in (13, 5):  # renames and links after which it is killed, each time from where it was
        ended = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(moment)], capture_output=True)
        assert ended.returncode == -signal.SIGKILL
        done.append(sum(1 for path in (tmp_path / ".killed.parts").glob("*/*")))
    assert done == sorted(done) and done[-1] > done[0]
    surveyed = []
    monkeypatch.setattr(preparing, "survey", functools.wraps(preparing.survey)(lambda _, unit: surveyed.append(unit)))
    assert prepared(tmp_path, "killed", ONE, identity="it") == whole
    assert not surveyed  # what is done is not done again


def test_a_kill_during_removal_leaves_no_results_in_use(tmp_path, monkeypatch):
    write(tmp_path)
    whole, unlink, left = prepared(tmp_path, "whole", ONE), os.unlink, itertools.count(-5)

    def interrupted(path, **options):
        if "dir_fd" in options and str(path).endswith(".npy") and next(left) == 0:
            raise KeyboardInterrupt
        unlink(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepared(tmp_path, "killed", ONE, identity="it")
    assert list(tmp_path.glob(".killed.parts/*/*"))
    assert prepared(tmp_path, "killed", ONE, identity="it") == whole


def test_results_of_other_preparations_are_not_used(tmp_path):
    write(tmp_path)
    whole = prepared(tmp_path, "whole", ONE)
    (tmp_path / ".next.parts" / "survey").mkdir(parents=True)
    (tmp_path / ".next.parts" / "of-other").touch()
    assert prepared(tmp_path, "next", ONE, identity="it") == whole


def test_a_terminated_process_is_reported_and_results_are_kept(tmp_path):
    write(tmp_path)
    make = functools.partial(_dying, tmp_path)
    with pytest.raises(TfattnError, match="a process that prepares data was ended from outside.*lower `data.engine"):
        prepare(section(tmp_path, TWO), tmp_path / "prepared", seed=3, make=make, identity="it")
    assert (tmp_path / ".prepared.parts").is_dir()
    assert prepared(tmp_path, "prepared", ONE, identity="it") == prepared(tmp_path, "whole", ONE)


def _dying(folder: Path) -> Data:
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_end_with_their_parent(tmp_path):
    write(tmp_path)
    script = "import sys; from tfattn import native; native.import_tensorflow(); "
    script += "from tests.data.engines import test_local_engine as t; t.prepared_slowly(t.Path(sys.argv[1]))"
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stderr=subprocess.DEVNULL)
    begun = tmp_path / "begun"
    while not begun.exists():
        assert parent.poll() is None
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    child = int(begun.read_text())
    for _ in range(1200):
        if not Path(f"/proc/{child}").exists() or "\nState:\tZ" in Path(f"/proc/{child}/status").read_text():
            return
        time.sleep(0.05)
    raise AssertionError("the process goes on")


def prepared_slowly(folder: Path) -> None:
    """Prepares with processes that take their time."""
    prepare(section(folder, TWO), folder / "slow", seed=3, make=functools.partial(_slow, folder))


def _slow(folder: Path) -> Data:
    files.write_text(folder / "begun", str(os.getpid()))
    time.sleep(600)


AT_ANY_TIME = """
import os
import sys
import threading
import time
from pathlib import Path
from tests.data import small_parts
from tfattn.data.engines.local_engine import Local

seconds, started = float(sys.argv[3]), time.monotonic()
threading.Thread(target=lambda: (time.sleep(seconds), os.kill(os.getpid(), 9)), daemon=True).start()
small_parts.prepared(Path(sys.argv[1]), "killed", Local(processes=int(sys.argv[2])), identity="it")
print(time.monotonic() - started)
"""


@pytest.mark.slow
def test_twenty_random_kills_change_nothing_and_results_are_kept(tmp_path):
    write(tmp_path, rows=2000)
    whole, killed = prepared(tmp_path, "whole", ONE), tmp_path / "killed"

    def begin(processes: int, seconds: float) -> subprocess.CompletedProcess:
        command = [sys.executable, "-c", AT_ANY_TIME, str(tmp_path), str(processes), str(seconds)]
        return subprocess.run(command, capture_output=True, text=True)

    def results() -> dict[Path, int]:
        if not (tmp_path / ".killed.parts" / "of-it").exists():  # it is gone first where results are removed
            return {}
        return {path: path.stat().st_ino for path in tmp_path.glob(".killed.parts/*/[!.]*")}

    durations = {processes: float(begin(processes, 600.0).stdout) for processes in (1, 2)}
    shutil.rmtree(killed)
    moments, kills, resumed = random.Random(0), 0, 0
    while kills < 20:
        processes, before = 1 + kills % 2, results()
        ended = begin(processes, moments.uniform(0.0, durations[processes]))
        kills += ended.returncode == -signal.SIGKILL
        resumed += bool(before)
        if killed.exists():  # maybe killed as it removed the results of parts, which are of no use any more
            assert files.verify(killed) == whole
            shutil.rmtree(killed)
        else:
            assert ended.returncode == -signal.SIGKILL, ended.stderr
            assert before.items() <= results().items()
    assert resumed > 5
    assert prepared(tmp_path, "killed", TWO, identity="it") == whole
