"""Arrays at an address: equality with local arrays, and detection of damage."""

import numpy as np
import pytest

from tfattn.data.preparation import arrays
from tfattn.files import PackedPath, RemotePath, pack

ARRAYS = {
    "keys": np.arange(100, dtype=np.uint64) * 7,
    "lengths": np.arange(60, dtype=np.int32).reshape(20, 3),
    "empty": np.empty((0, 1), np.int32),
    "flags": np.arange(9) % 2 == 0,
}


@pytest.fixture
def folders(tmp_path):
    """The arrays on a disk, and packed at an address."""
    (tmp_path / "folder").mkdir()
    for name, values in ARRAYS.items():
        np.save(tmp_path / "folder" / f"{name}.npy", values)
    pack(tmp_path / "folder", tmp_path / "packed")
    return tmp_path / "folder", PackedPath.of(RemotePath(f"file://{tmp_path}/packed"))


@pytest.mark.parametrize("name", ARRAYS)
def test_rows_of_local_and_remote_arrays_are_the_same(folders, name):
    values = ARRAYS[name]
    for folder in folders:
        assert np.array_equal(arrays.load(folder / f"{name}.npy"), values)
        found = arrays.opened(folder / f"{name}.npy")
        assert len(found) == len(values)
        for some in (slice(None), slice(3, 7), slice(5, 5), slice(8, 1000)):
            assert np.array_equal(found[some], values[some]) and found[some].dtype == values.dtype
        if len(values):
            assert np.array_equal(found[3], values[3])
        assert np.array_equal(arrays.concatenate([folder / f"{name}.npy"] * 2), np.concatenate([values] * 2))


def test_only_requested_rows_are_read(folders, tmp_path):
    *_, packed = folders
    found = arrays.opened(packed / "lengths.npy")
    begin, size = packed.spans["lengths.npy"]
    with open(tmp_path / "packed", "r+b") as file:
        file.truncate(begin + size - 12)  # without the last row
    assert np.array_equal(found[:19], ARRAYS["lengths"][:19])
    with pytest.raises(EOFError, match="packed/lengths.npy ends too soon"):
        found[18:20]
    with pytest.raises((EOFError, ValueError)):
        arrays.load(packed / "lengths.npy")


def test_many_rows_are_read_together(folders):
    *_, packed = folders
    several = arrays.concatenate([packed / "keys.npy"] * 500)
    assert np.array_equal(several, np.tile(ARRAYS["keys"], 500))
