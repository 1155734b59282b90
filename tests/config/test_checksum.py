"""Checksums of configuration files: a changed file is refused."""

import pytest

from tfattn.config.checksum import checksummed, has_valid_checksum
from tfattn.config.read import read_yaml
from tfattn.errors import ConfigError

TEXT = "name: café\nseed: 7\ntraining:\n  epochs: 3\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(checksummed(TEXT), encoding="utf-8")
    return path


def test_a_file_with_a_checksum_is_read(path):
    assert has_valid_checksum(path)
    assert read_yaml(path).values["training"] == {"epochs": 3}


@pytest.mark.parametrize(
    "change", [lambda text: text[: len(text) - 5], lambda text: text.replace("7", "8"), lambda text: text + "more: 1\n"]
)
def test_a_changed_file_is_refused(change, path):
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert not has_valid_checksum(path)
    with pytest.raises(ConfigError, match=r"config.yaml: the file was changed since tfattn wrote it.*first line if"):
        read_yaml(path)


def test_a_changed_file_without_its_first_line_is_read(path):
    path.write_text(path.read_text(encoding="utf-8").partition("\n")[2].replace("7", "8"), encoding="utf-8")
    assert read_yaml(path).values["seed"] == 8


@pytest.mark.parametrize("content", [None, b"", b"\0\0", b"\xff", TEXT.encode()])
def test_a_file_without_a_checksum_has_no_valid_one(content, path):
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert not has_valid_checksum(path)
