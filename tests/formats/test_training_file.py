"""The description of a training file: round trip, and detection of damage."""

import pytest

from tfattn.errors import DataError
from tfattn.formats.training_file import FileFormat, TrainingFile

FORMATS = [None, FileFormat("text", "latin-1"), FileFormat("csv", "cp1252", ";", quoting=False, header=False)]


@pytest.mark.parametrize("how", FORMATS)
def test_a_description_round_trips(tmp_path, how):
    kept = TrainingFile({"text": "Größe"}, missing=("", "-"), suffix=".csv", format=how)
    kept.write(tmp_path / "source.json")
    assert TrainingFile.read(tmp_path / "source.json", remedy="") == kept


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"columns": 3}', '{"columns": {}, "format": {"kind": "xls"}}'])
def test_damage_is_reported(tmp_path, content):
    (tmp_path / "source.json").write_text(content)
    with pytest.raises(DataError, match=r"source.json: the file is damaged: .*Export it again"):
        TrainingFile.read(tmp_path / "source.json", remedy="Export it again.")
