"""Stage logs: a stage is done if it finished with the same inputs and its outputs are intact."""

import pytest

from tfattn import files
from tfattn.config.schema import Config
from tfattn.runs.stage_log import StageLog

CONFIG = Config({"training": {"epochs": 1}})


@pytest.fixture
def records(tmp_path):
    """Return a function that opens the log of a folder, like another process."""
    return lambda **options: StageLog(tmp_path / "run", CONFIG, "made of this", **options)


@pytest.fixture
def trained(records):
    """The log of a folder in which `train` is done, with a history."""
    done = records()
    with done.stage("train", outputs=("history.jsonl",)) as needed:
        assert needed
        files.write_text(done.folder / "history.jsonl", "{}\n")
    assert done.is_done("train") and records().is_done("train")
    return done


def test_a_stage_with_other_inputs_is_not_done(trained, records):
    assert not records().is_done("train", inputs="others")


@pytest.mark.parametrize("name", ["history.jsonl", "stages/train.json"])
@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff"])
def test_a_stage_with_damaged_outputs_is_run_again(name, content, trained, records, capsys):
    path = trained.folder / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    again = records()
    assert not again.is_done("train")
    if content is not None or name == "history.jsonl":  # without its record it was never done
        assert f"train is run again, because of damage: {path}: " in capsys.readouterr().err
    with again.stage("train", outputs=("history.jsonl",)) as needed:
        assert needed
        files.write_text(trained.folder / "history.jsonl", "{}\n")
    assert records().is_done("train")


def test_a_damaged_configuration_is_written_again(trained, records, capsys):
    path = trained.folder / "config.yaml"
    whole = path.read_bytes()
    for damage in (b"", whole[:99], whole.replace(b"epochs: 1", b"epochs: 2")):
        path.write_bytes(damage)
        with records().stage("train") as needed:
            assert not needed
        assert path.read_bytes() == whole
        assert "config.yaml" in capsys.readouterr().err


def test_a_process_that_does_not_write_changes_nothing(trained, records, capsys):
    before = {path: path.read_bytes() for path in trained.folder.rglob("*") if path.is_file()}
    helper = records(writes=False)
    helper.forget("train", "checkpoints")
    for stage, needed in {"train": False, "evaluate": True}.items():
        with helper.stage(stage) as runs:
            assert runs == needed
    assert {path: path.read_bytes() for path in trained.folder.rglob("*") if path.is_file()} == before
