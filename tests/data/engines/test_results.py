"""Results of work units: atomic, and equal on a disk and at an address."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from tfattn import files
from tfattn.data.engines import results
from tfattn.errors import DataError, TfattnError


@pytest.fixture(params=["disk", "ram://", "file://"])
def folder(request, tmp_path):
    """A folder of results that does not exist yet."""
    if request.param == "disk":
        return tmp_path / "work" / "step"
    return files.path_of(f"{request.param}{tmp_path}/work/step")


def write(folder, name, content=b"content"):
    with results.result(folder, name) as new:
        (new / "file").write_bytes(content)


def test_a_result_exists_after_its_block_succeeds(folder):
    assert results.done(folder) == set()
    with results.result(folder, "one") as new:
        (new / "file").write_bytes(b"1")
        assert not (folder / "one").exists()
    with pytest.raises(RuntimeError), results.result(folder, "two"):
        raise RuntimeError
    assert results.done(folder) == {"one"}
    with (results.opened(folder, "one") / "file").open("rb") as file:
        assert file.read() == b"1"


def test_a_repeated_result_keeps_its_first_content(folder):
    write(folder, "one", b"first")
    write(folder, "one", b"second")
    assert (results.opened(folder, "one") / "file").read_bytes() == b"first"


def test_results_are_downloaded(folder, tmp_path):
    write(folder, "one")
    with results.on_disk(results.opened(folder, "one")) as found:
        assert (found / "file").read_bytes() == b"content"
    (tmp_path / "copies").mkdir()
    results.copy(results.opened(folder, "one"), tmp_path / "copies")
    assert (tmp_path / "copies" / "file").read_bytes() == b"content"


def test_results_are_removed_even_if_some_are_missing(folder):
    write(folder, "one")
    for _ in range(2):
        results.remove(folder)
        assert results.done(folder) == set()
        assert not (folder / "one").exists()


def test_links_are_copies_on_disks_without_links(tmp_path, monkeypatch):
    write(tmp_path / "step", "one")
    monkeypatch.setattr(os, "link", _no_links)
    (tmp_path / "copies").mkdir()
    results.copy(tmp_path / "step" / "one", tmp_path / "copies")
    assert (tmp_path / "copies" / "file").read_bytes() == b"content"


def _no_links(*paths):
    raise OSError(18, "Invalid cross-device link")


def test_results_of_an_address_are_read_concurrently_in_order():
    both = threading.Barrier(2, timeout=60)

    def read(number):
        both.wait()
        return number

    assert results.each(read, range(4), location=files.path_of("ram://work")) == [0, 1, 2, 3]


def test_a_missing_result_is_an_error(folder):
    write(folder, "one")
    for name, file in (("two", "file"), ("one", "none")):
        damaged = pytest.raises(DataError, match="what is done already has been damaged.*No such file")
        with damaged, results.reading(folder):
            (results.opened(folder, name) / file).read_bytes()


KILLED = """
import os
import sys
from tfattn import native
native.import_tensorflow()
import tensorflow as tf
from tfattn import files
from tfattn.data.engines import results

tf.io.gfile.rename = lambda *paths, **options: os.kill(os.getpid(), 9)
with results.result(files.path_of(sys.argv[1]), "one") as new:
    (new / "file").write_bytes(b"1")
"""


def test_an_interrupted_upload_is_absent_and_repeated(tmp_path):
    folder = files.path_of(f"file://{tmp_path}/step")
    killed = subprocess.run([sys.executable, "-c", KILLED, str(folder)], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    [left] = (tmp_path / "step").iterdir()
    assert left.stat().st_size and "one" not in results.done(folder)
    write(folder, "one")
    assert (results.opened(folder, "one") / "file").read_bytes() == b"content"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("file://{}/file/step", "file/step: the address fails .*not a directory"),
        ("s3://bucket/step", r"s3://bucket/step: the address fails .TensorFlow does not support s3:// here"),
    ],
)
def test_an_unwritable_address_is_reported(tmp_path, address, message):
    (tmp_path / "file").touch()
    with pytest.raises(TfattnError, match=message):
        write(files.path_of(address.format(tmp_path)), "one")
