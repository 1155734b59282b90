"""Manifests: any change of a folder is found."""

import json

import pytest

from tfattn import files
from tfattn.errors import DataError


@pytest.fixture
def folder(tmp_path):
    with files.atomic_folder(tmp_path / "data", labels=["a", "é"], rows=3, share=0.1) as new:
        (new / "a.txt").write_bytes(b"a")
        (new / "b.txt").write_bytes(b"b")
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "missing"),
        (lambda path: path.write_bytes(b"longer than before"), "expected 1 bytes, received 18"),
        (lambda path: path.write_bytes(b"b"), "SHA-256"),
    ],
)
def test_damage_to_a_file_is_found_and_named(damage, message, folder):
    damage(folder / "a.txt")
    with pytest.raises(DataError, match=f"a.txt.*{message}.*Write the folder again"):
        files.verify(folder)
    assert files.verify(folder, "b.*")["rows"] == 3, "what is asked for is undamaged"


def test_any_changed_byte_of_a_manifest_is_found(folder):
    path = folder / files.MANIFEST
    whole = path.read_bytes()
    content = json.loads(whole)
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            found = files.read_manifest(folder)
        except DataError as error:
            assert error.where == str(path)
        else:
            assert found == content, "only where it says the same in other words"
        path.write_bytes(whole[:place])
        if place < len(whole) - 1:
            with pytest.raises(DataError, match=r"manifest.json: the file is damaged"):
                files.read_manifest(folder)


def test_a_manifest_without_its_checksum_is_refused(folder):
    path = folder / files.MANIFEST
    path.write_text('{"files": {}}')
    with pytest.raises(DataError, match=r"manifest.json: .* of an older version: it has no SHA-256 of itself"):
        files.verify(folder)


def test_facts_are_validated(folder):
    class Facts(files.Manifest):
        labels: list[str]

    class Others(files.Manifest):
        labels: list[int]

    assert files.read_manifest(folder, Facts)["labels"] == ["a", "é"]
    with pytest.raises(DataError, match=r"manifest.json: the file is damaged: `labels.0`.*Ask again"):
        files.verify(folder, shape=Others, remedy="Ask again.")


def test_a_manifest_may_cover_some_files(folder, tmp_path):
    files.write_text(tmp_path / "done.json", files.manifest_text(folder, [folder / "a.txt"], seconds=0.5))
    done = files.read_manifest_file(tmp_path / "done.json")
    assert done["seconds"] == 0.5 and done["files"].keys() == {"a.txt"}
    files.check(folder, done["files"])
    (folder / "a.txt").write_bytes(b"b")
    with pytest.raises(DataError, match="a.txt: the file's SHA-256 differs"):
        files.check(folder, done["files"])


def test_a_digest_does_not_depend_on_the_order_of_keys():
    assert files.digest({"a": 1, "b": [2]}) == files.digest({"b": [2], "a": 1}) != files.digest({"a": 1, "b": [3]})
