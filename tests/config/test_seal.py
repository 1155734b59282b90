"""A configuration that was written down is used only as it was written."""

import pytest

from tfattn.config.read import read_yaml
from tfattn.config.seal import is_sealed, sealed
from tfattn.errors import ConfigError

TEXT = "name: café\nseed: 7\ntraining:\n  epochs: 3\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(sealed(TEXT), encoding="utf-8")
    return path


def test_it_is_read_as_any_other(path):
    assert is_sealed(path)
    assert read_yaml(path).values["training"] == {"epochs": 3}


@pytest.mark.parametrize(
    "change", [lambda text: text[: len(text) - 5], lambda text: text.replace("7", "8"), lambda text: text + "more: 1\n"]
)
def test_a_change_is_refused(change, path):
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    assert not is_sealed(path)
    with pytest.raises(ConfigError, match=r"config.yaml: the file was changed since tfattn wrote it.*first line if"):
        read_yaml(path)


def test_a_change_that_is_meant_is_a_pipeline_of_its_own(path):
    path.write_text(path.read_text(encoding="utf-8").partition("\n")[2].replace("7", "8"), encoding="utf-8")
    assert read_yaml(path).values["seed"] == 8


@pytest.mark.parametrize("content", [None, b"", b"\0\0", b"\xff", TEXT.encode()])
def test_what_has_no_seal_was_not_written_so(content, path):
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    assert not is_sealed(path)
