"""LiteRT files are written if they predict as well as the trained model, with everything that an app needs."""

import json
import shutil
from typing import Any

import numpy as np
import pytest

from tests.litert import exports
from tfattn import files
from tfattn.errors import ConfigError
from tfattn.export import litert_files, litert_gate
from tfattn.export.litert_files import FOLDER
from tfattn.export.network_split import split_all
from tfattn.export.row_tasks import Classifier
from tfattn.export.section import Export
from tfattn.litert import model_file
from tfattn.litert.model import LiteRtModel
from tfattn.litert.wordpiece import WordPieceReader


@pytest.fixture(scope="module")
def exported(once):
    return once("litert_export", exports.write) / exports.VERSION


@pytest.fixture(scope="module")
def ensemble(tmp_path_factory):
    """The exported model."""
    return exports.ensemble(tmp_path_factory.mktemp("ensemble"))


@pytest.fixture(scope="module")
def trained(ensemble):
    return ensemble.predict(exports.ROWS)


@pytest.fixture(scope="module")
def converted(ensemble):
    """The model, and the parts of it that LiteRT computes."""
    served = Classifier(ensemble)
    return served, split_all(served)


@pytest.fixture
def write(exported, converted, trained, tmp_path):
    """Write the LiteRT files of a copy of the export's SavedModel: `write(precision, metrics)`."""
    folder = tmp_path / "1"
    shutil.copytree(exported, folder, ignore=shutil.ignore_patterns("assets.extra", "manifest.json"))

    def write(**arguments: Any):
        section = Export(version="next", litert_precision=arguments.pop("precision", "int8"))
        found = {"name": "reports", "section": section, "rows": exports.ROWS, "expected": trained}
        return folder, litert_files.write(*converted, folder, **found, **arguments)

    return write


def test_one_file_has_everything_for_an_app(exported, trained):
    model = LiteRtModel(exported / FOLDER / "reports_int8.tflite")
    inputs = WordPieceReader(model.files)(exports.TEXTS)
    labels = [exports.LABELS[index] for index in model.run("serving_default", inputs)["logits"].argmax(axis=1)]
    assert labels == [exports.LABELS[index] for index in trained["label_ids"][: len(labels)]]
    assert model.files["labels.txt"].decode().split() == exports.LABELS
    description = model.description
    assert (description["model"], description["task"], description["precision"]) == ("reports", "classifier", "int8")
    assert description["inputs"]["token_ids"] == {"dtype": "int32", "shape": [-1, -1]}
    assert description["outputs"] == {"logits": {"dtype": "float32", "shape": [-1, len(exports.LABELS)]}}
    assert description["entries"]["scores"] == exports.LABELS and description["raw_inputs"]["text"]["kind"] == "text"
    assert description["gate"]["passed"]


def test_reports_are_in_the_files_of_the_export(exported):
    parity = json.loads((exported / "assets.extra/parity.json").read_text())
    assert parity["litert"]["float32"]["max_score_difference"] <= 1e-5
    report = parity["litert"]["int8"]
    assert report["passed"] and report["label_agreement"] == 1.0 and 0 < report["max_score_difference"] < 0.05
    assert files.read_json(exported / "assets.extra/card.json", dict)["litert"] == parity["litert"]
    assert (exported / FOLDER / "reports_float32.tflite").stat().st_size > (
        exported / FOLDER / "reports_int8.tflite"
    ).stat().st_size


@pytest.fixture
def accuracy(trained):
    """Metrics by the largest difference from the trained model: `accuracy(limit)`."""
    reference = trained["scores"]

    def accuracy(limit):
        return lambda values: {"accuracy": 0.9 if np.abs(values["scores"] - reference).max() <= limit else 0.8}

    return accuracy


def test_matrices_that_hurt_stay_in_float(exported, write, accuracy):
    every = json.loads((exported / "assets.extra/parity.json").read_text())["litert"]["int8"]
    folder, reports = write(metrics=accuracy(0.8 * every["max_score_difference"]))
    report = reports["int8"]
    assert report["passed"] and (report["metric"], report["float32"], report["value"]) == ("accuracy", 0.9, 0.9)
    assert report["kept_float32"] and report["max_score_difference"] < every["max_score_difference"]
    sizes = [(version / FOLDER / "reports_int8.tflite").stat().st_size for version in (exported, folder)]
    assert sizes[0] < sizes[1]


def test_a_file_that_fails_is_not_written(tmp_path, accuracy, capsys):
    folder = exports.write(tmp_path, measure=accuracy(1e-7))
    assert [path.name for path in (folder / FOLDER).iterdir()] == ["reports_float32.tflite"]
    message = capsys.readouterr().err
    assert (
        "int8 was not written, because it predicts worse than the trained model: accuracy 0.8000, float32 0.9000"
        in (" ".join(message.split()))
    )
    assert not json.loads((folder / "assets.extra/parity.json").read_text())["litert"]["int8"]["passed"]


def test_an_export_always_has_a_saved_model():
    with pytest.raises(ConfigError, match=r"always has a SavedModel: expected .* received \[litert\]"):
        Export(formats=("litert",))


@pytest.mark.parametrize(
    ("metric", "before", "after", "passes"),
    [("accuracy", 0.9, 0.896, True), ("accuracy", 0.9, 0.894, False), ("mean_absolute_error", 10.0, 10.04, True)]
    + [("mean_absolute_error", 10.0, 10.06, False), ("f1", 0.5, 0.6, True)],
)
def test_losses(metric, before, after, passes):
    assert (litert_gate.loss(metric, before, after) <= litert_gate.MAX_LOSS) == passes


def test_the_identity_is_that_of_the_graph_and_the_weights(exported, write, tmp_path):
    folder, _ = write(precision="float32")
    assert [path.name for path in (folder / FOLDER).iterdir()] == ["reports_float32.tflite"]
    names = [version / FOLDER / "reports_float32.tflite" for version in (exported, folder)]
    first, again = (model_file.read(name).description["export"] for name in names)
    assert first == again == litert_files.identity(folder)
    for path in (folder / "saved_model.pb", next(folder.glob("variables/*.data-*"))):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert litert_files.identity(folder) != first
        path.write_bytes(content)
