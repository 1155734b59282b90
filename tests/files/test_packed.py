"""Packed folders: files are read separately, and folders are restored unchanged."""

import pytest

from tfattn.files import PackedPath, RemotePath, pack

CONTENTS = {"a.bin": bytes(range(256)) * 10, "empty": b"", "inner/deep/é.txt": b"deep", "inner.txt": b"beside"}


@pytest.fixture
def folder(tmp_path):
    for name, content in CONTENTS.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "folder"


@pytest.fixture
def packed(folder, tmp_path):
    pack(folder, tmp_path / "packed")
    return PackedPath.of(RemotePath(f"file://{tmp_path}/packed"))


def test_each_file_is_read_separately_to_its_end(packed):
    for name, content in CONTENTS.items():
        assert (packed / name).read_bytes() == content
    with (packed / "a.bin").open("rb") as file:
        file.seek(2550)
        assert file.read(100) == CONTENTS["a.bin"][2550:]
        assert file.seek(-3, 2) == 2557 and file.read() == CONTENTS["a.bin"][-3:]
    with pytest.raises(FileNotFoundError, match="packed/inner/none"):
        (packed / "inner" / "none").open("rb")


@pytest.mark.parametrize(("inner", "names"), [("", set(CONTENTS)), ("inner", {"deep/é.txt"})])
def test_unpacked_folders_are_unchanged(packed, tmp_path, inner, names):
    (packed / inner if inner else packed).unpack(tmp_path / "again")
    found = {path.relative_to(tmp_path / "again").as_posix() for path in (tmp_path / "again").rglob("*.*")}
    assert found | {"empty"} == names | {"empty"}
    for name in names:
        assert (tmp_path / "again" / name).read_bytes() == CONTENTS[f"{inner}/{name}" if inner else name]


@pytest.mark.parametrize("length", [3, 8, 30])
def test_a_truncated_index_is_an_error(packed, tmp_path, length):
    cut = (tmp_path / "packed").read_bytes()[:length]
    (tmp_path / "packed").write_bytes(cut)
    with pytest.raises(ValueError):
        PackedPath.of(packed.archive)
