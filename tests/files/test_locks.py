"""Locks on folders; leftovers of killed processes are removed, and folders of running writers stay."""

import os
import subprocess
import sys

import pytest

from tfattn import files
from tfattn.errors import TfattnError

WRITES_UNTIL_TOLD = """
import sys
from tfattn import files

with files.atomic_file(sys.argv[1]) as path:
    path.write_text("new")
    print(path.parent.name, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def writer(tmp_path):
    """A process that writes x.txt until its standard input ends."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", WRITES_UNTIL_TOLD, str(tmp_path / "x.txt")]
    with subprocess.Popen(
        command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        process.staging = tmp_path / process.stdout.readline().strip()
        yield process
        process.kill()


def test_a_folder_is_locked_by_one_process(tmp_path):
    with files.lock(tmp_path), pytest.raises(TfattnError, match="another process"), files.lock(tmp_path):
        pass
    with files.lock(tmp_path):
        pass


def test_the_folder_of_a_running_writer_stays(writer, tmp_path):
    files.write_text(tmp_path / "y.txt", "")
    with files.lock(tmp_path):
        assert writer.staging.is_dir()
    writer.communicate()
    assert (tmp_path / "x.txt").read_text() == "new"
    assert not writer.staging.exists()


@pytest.mark.parametrize("how", ["by whoever writes there", "by whoever holds the folder"])
def test_leftovers_of_a_killed_writer_are_removed(how, writer, tmp_path):
    writer.kill()
    writer.wait()
    assert writer.staging.is_dir()
    if how == "by whoever writes there":
        files.write_text(tmp_path / "y.txt", "")
    else:
        with files.lock(tmp_path):
            pass
    assert not writer.staging.exists()
    assert not (tmp_path / "x.txt").exists()


def test_other_hidden_folders_stay(tmp_path):
    (tmp_path / ".git").mkdir()
    files.remove_leftovers(tmp_path)
    assert (tmp_path / ".git").is_dir()
