"""A SavedModel version is complete, verified and the newest, or does not exist."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfattn import files
from tfattn.errors import DataError, ExportError, TfattnError
from tfattn.export import parity, saved_model
from tfattn.export.saved_model import export
from tfattn.export.section import Export
from tfattn.serving.client import local


@pytest.fixture
def quick(monkeypatch):
    """Leaves out the model and its checks, where a test is about the folders around it."""
    monkeypatch.setattr(saved_model, "_save", lambda served, folder, _: (folder / "saved_model.pb").write_text("model"))
    monkeypatch.setattr(saved_model, "_operations", lambda folder: [])
    monkeypatch.setattr(saved_model.warmup, "write", lambda *_, **__: None)
    monkeypatch.setattr(parity, "check", lambda served, folder, **_: {"rows": 0})


@pytest.fixture
def write(served, rows, expected, tmp_path):
    """Exports into tmp_path/models with the given settings."""

    def write(*, name="reports", expected=expected, made_of="", **settings) -> Path:
        section = Export(folder=str(tmp_path / "models"), **{"version": "next", **settings})
        return export(served, name=name, section=section, rows=rows, expected=expected, config="", made_of=made_of)

    return write


def list_files(folder: Path) -> list[str]:
    """All files below a folder, but not its locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".flock")
    return sorted(str(path.relative_to(folder)) for path in files)


def test_a_version_has_all_files(exported):
    assert exported.parts[-3:] == ("saved_models", "reports", "1")
    assert list_files(exported) == [
        "README.md",
        "assets.extra/card.json",
        "assets.extra/config.yaml",
        "assets.extra/operations.txt",
        "assets.extra/parity.json",
        "assets.extra/source.json",
        "assets.extra/tf_serving_warmup_requests",
        "assets.extra/weights.json",
        "assets/labels.txt",
        "assets/tokenizer_config.json",
        "assets/vocab.txt",
        "fingerprint.pb",
        "manifest.json",
        "saved_model.pb",
        "variables/variables.data-00000-of-00001",
        "variables/variables.index",
    ]
    assert files.verify(exported)["model"] == "reports"
    assert (exported / "assets/labels.txt").read_text() == "Leak\nÉlectronique\n机械\n"
    assert (exported / "assets.extra/config.yaml").read_text() == "name: reports\n"
    assert "FastWordpieceTokenizeWithOffsets" in (exported / "assets.extra/operations.txt").read_text()
    assert list(exported.parent.iterdir()) == [exported]  # nothing but versions


def test_signatures_have_the_methods_that_tf_serving_looks_for(exported):
    saved = saved_model_pb2.SavedModel.FromString((exported / "saved_model.pb").read_bytes())
    methods = {key: one.method_name for key, one in saved.meta_graphs[0].signature_def.items() if one.inputs}
    predict, classify = "tensorflow/serving/predict", "tensorflow/serving/classify"
    views = dict.fromkeys(("attention", "attention_vectors", "attributions"), predict)
    assert methods == {"serving_default": predict, "features": predict, "tokens": predict, "classify": classify} | views
    assert saved.meta_graphs[0].meta_info_def.tags == ["serve"]
    fingerprint = tf.saved_model.experimental.read_fingerprint(str(exported))
    assert fingerprint.saved_model_checksum


def test_the_report_has_the_parity_results(exported, rows):
    report = json.loads((exported / "assets.extra/parity.json").read_text())
    assert report["rows"] == len(rows)
    assert report["label_agreement"] == 1.0
    assert report["max_score_difference"] <= 1e-5 == report["tolerance"]
    assert report["tensorflow"] == tf.__version__


def test_an_export_with_other_predictions_is_not_published(write, expected, tmp_path, quick, monkeypatch):
    write()
    before = list_files(tmp_path)
    monkeypatch.undo()
    moved = np.array(expected["scores"])
    moved[2, 0] += 1e-3
    with pytest.raises(ExportError) as caught:
        write(expected={**expected, "scores": moved})
    assert "on 1 of 4 rows" in str(caught.value)
    assert caught.value.where == "reports.csv:4"
    assert "off by 0.001" in str(caught.value)
    assert list_files(tmp_path) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_export_leaves_nothing(error, write, tmp_path, quick, monkeypatch):
    def interrupt(*_, **__):
        raise error

    monkeypatch.setattr(parity, "check", interrupt)
    with pytest.raises(error):
        write()
    assert list_files(tmp_path) == []


def test_leftovers_of_a_killed_export_are_removed(write, tmp_path, quick):
    left = tmp_path / "models/reports/.7.abcd.unfinished/new"
    left.mkdir(parents=True)
    write()
    assert not left.parent.exists()


def test_a_version_is_identified_by_its_inputs(write, tmp_path, quick, capsys):
    section = Export(folder=str(tmp_path / "models"))
    assert saved_model.find_export("reports", section, "a") is None
    first, second, third = (write(made_of=made_of) for made_of in "aba")
    assert [saved_model.find_export("reports", section, made_of) for made_of in "abc"] == [third, second, None]
    (third / "saved_model.pb").write_text("moved")
    assert saved_model.find_export("reports", section, "a") == first
    assert f"skipped a damaged export: {third}/saved_model.pb" in capsys.readouterr().err


def test_remaining_steps_of_a_killed_export_are_completed(write, tmp_path, quick):
    for number in range(3):
        newest = write(made_of=str(number))
    (tmp_path / "models/models.config").unlink()
    saved_model.finish(newest, Export(folder=str(tmp_path / "models"), keep=2))
    assert list(files.numbered(newest.parent)) == [2, 3]
    assert 'name: "reports"' in (tmp_path / "models/models.config").read_text()


def test_old_versions_are_kept_up_to_a_limit(write, quick):
    for _ in range(4):
        newest = write(keep=2)
    assert list(files.numbered(newest.parent)) == [3, 4]
    assert write(keep=2, version=1).exists()
    assert list(files.numbered(newest.parent)) == [1, 3, 4]


def test_an_existing_version_is_not_rewritten(write, quick):
    write(version=7)
    with pytest.raises(ExportError, match="expected a free number, such as 8, received 7"):
        write(version=7)


def test_a_timestamp_is_newer_than_existing_versions(write, quick):
    future = write(version=4_000_000_000)
    assert write(version="timestamp").name == str(int(future.name) + 1)


def test_concurrent_exports_of_a_model_do_not_conflict(write, tmp_path, quick):
    with files.lock(tmp_path / "models/reports"), pytest.raises(TfattnError, match="another process is at work"):
        write()


def test_a_full_disk_is_reported_by_the_export(write, tmp_path, monkeypatch):
    def full(*_, **__):
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full)
    with pytest.raises(TfattnError, match="no space left on the disk"):
        write()
    assert list_files(tmp_path) == []


def test_parity_requires_rows(served, tmp_path):
    with pytest.raises(ExportError, match="no validation row"):
        export(served, name="x", section=Export(folder=str(tmp_path)), rows=[], expected={}, config="")


def test_an_export_without_its_manifest_is_refused(exported, tmp_path):
    shutil.copytree(exported, tmp_path / "1")
    (tmp_path / "1/manifest.json").unlink()
    with pytest.raises(DataError, match=r"1/manifest.json: the file is missing. Copy the version's whole folder"):
        local.load(str(tmp_path / "1"))


def test_an_export_predicts_new_rows(exported, rows, expected):
    loaded = local.load("reports", exported.parent.parent)
    answers = loaded.predict(rows)
    assert [answer["label_id"] for answer in answers] == expected["label_ids"].tolist()
    assert loaded.trained_on.columns == {"text": "Description"} and loaded.trained_on.format.delimiter == ";"
    assert sum(answers[0]["scores"].values()) == pytest.approx(1.0)
