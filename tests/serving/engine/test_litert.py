"""LiteRT answers as TensorFlow does; a file that cannot be used is refused with a message, and TensorFlow answers."""

import copy
import json
import os
import shutil
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from benchmarks.serving.running import running
from tests.litert import exports
from tfattn.errors import ServingError
from tfattn.export.servable_row_model import example
from tfattn.litert import graph_edits, model_file
from tfattn.serving.client.local import load
from tfattn.serving.engine.litert import FOLDER, LiteRtEngine, open_engine, with_engine
from tfattn.serving.engine.saved_model import SavedModel

TEXT = {"text": np.array([text.encode() for text in exports.TEXTS], object)}
INT8 = FOLDER / "reports_int8.tflite"


@pytest.fixture(scope="module")
def exported(once) -> Path:
    return once("litert_export", exports.write) / exports.VERSION


@pytest.fixture
def copied(exported, tmp_path) -> Path:
    """A copy of the export that a test may damage."""
    shutil.copytree(exported, tmp_path / "reports/1")
    return tmp_path / "reports/1"


@pytest.fixture(scope="module")
def saved(exported) -> SavedModel:
    """The export, loaded with TensorFlow once."""
    return SavedModel(exported)


@pytest.fixture
def loaded(saved, copied) -> SavedModel:
    """The loaded export, whose LiteRT files are those of the copy."""
    model = copy.copy(saved)
    model.folder = copied
    return model


@pytest.fixture(scope="module")
def answers(saved):
    """Outputs of TensorFlow."""
    return saved.run("serving_default", TEXT)


@pytest.mark.parametrize(("precision", "tolerance"), [("int8", 0.05), ("float32", 1e-5)])
def test_answers_are_those_of_tensorflow(copied, loaded, answers, precision, tolerance):
    if precision == "float32":
        (copied / INT8).unlink()
    engine = with_engine(loaded, "litert")
    assert isinstance(engine, LiteRtEngine) and precision in engine.path.name
    found = engine.run("serving_default", TEXT)
    assert list(found) == list(answers)
    for name in ("label", "label_id", "truncated"):
        np.testing.assert_array_equal(found[name], answers[name])
    difference = np.abs(found["scores"] - answers["scores"]).max()
    assert difference <= tolerance and (difference > 0 or precision == "float32")
    assert list(engine.run("serving_default", TEXT, ("scores",))) == ["scores"]


def test_tensorflow_answers_other_signatures_and_empty_requests(exported, saved):
    engine = open_engine(exported, "auto")
    assert isinstance(engine, LiteRtEngine) and engine.signatures.keys() == saved.signatures.keys()
    examples = {"inputs": np.array([example({"text": text}) for text in exports.TEXTS], object)}
    np.testing.assert_array_equal(engine.run("classify", examples)["scores"], saved.run("classify", examples)["scores"])
    assert engine.run("serving_default", {"text": np.array([], object)})["scores"].shape == (0, 3)


def test_vectors_of_texts(saved, copied, loaded):
    (copied / INT8).unlink()
    expected = saved.run("features", TEXT)["encoded"]
    np.testing.assert_allclose(with_engine(loaded, "auto").run("features", TEXT)["encoded"], expected, atol=1e-5)
    difference = np.abs(with_engine(saved, "auto").run("features", TEXT)["encoded"] - expected)
    assert 0 < difference.max() < 0.1


def damage(folder, kind):
    path = folder / INT8
    content = path.read_bytes()
    if kind == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif kind == "changed":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    elif kind == "no flatbuffer":
        path.write_bytes(b"<html>not found</html>")
    elif kind == "of TensorFlow's operations":
        model = graph_edits.unpack(content)
        code = model.operatorCodes[0]
        code.builtinCode, code.deprecatedBuiltinCode, code.customCode = model_file.CUSTOM, model_file.CUSTOM, "FlexErf"
        path.write_bytes(graph_edits.pack(model, len(content)))
    elif kind == "larger than the memory":
        os.truncate(path, 1 << 42)  # without data on the disk
    else:
        shutil.rmtree(folder / FOLDER)


MESSAGES = {
    "truncated": r"reports_int8.tflite: the LiteRT file is truncated or damaged: .*Copy the version's|Copy the file",
    "changed": r"reports_int8.tflite: the LiteRT file is truncated or damaged: expected",
    "no flatbuffer": r"reports_int8.tflite: the file is not a LiteRT model: expected .*TFL3",
    "of TensorFlow's operations": r"operations that are not part of LiteRT: expected built-in .*received FlexErf",
    "larger than the memory": r"the LiteRT file is larger than the available memory: expected at most",
    "missing": r"the export has no LiteRT file.*formats=\[saved_model,litert\]",
}


@pytest.mark.parametrize("kind", MESSAGES)
def test_tensorflow_answers_if_the_file_is_damaged(copied, loaded, answers, kind, capsys):
    damage(copied, kind)
    with pytest.raises(ServingError, match=MESSAGES[kind]):
        with_engine(loaded, "litert")
    found = with_engine(loaded, "auto").run("serving_default", TEXT)
    np.testing.assert_array_equal(found["scores"], answers["scores"])
    assert kind == "missing" or "because its LiteRT file cannot be used" in capsys.readouterr().err


def test_the_file_of_another_export_is_refused(copied, loaded):
    known = model_file.read(copied / INT8)
    other = known.description | {"export": "0" * 64}
    (copied / INT8).write_bytes(model_file.add_metadata((copied / INT8).read_bytes(), other, known.files))
    with pytest.raises(ServingError, match="the LiteRT file is of another export: expected the file of the export"):
        with_engine(loaded, "litert")


def test_without_the_package_tensorflow_answers(saved, answers, monkeypatch):
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(ServingError, match=r"LiteRT is not installed: .*pip install 'tfattn\[litert\]'"):
        with_engine(saved, "litert")
    found = with_engine(saved, "auto").run("serving_default", TEXT)
    np.testing.assert_array_equal(found["scores"], answers["scores"])


def test_predictions_of_rows(exported):
    rows = [{"text": text} for text in exports.TEXTS]
    exact, fast = (load(str(exported), engine=engine).predict(rows) for engine in ("tensorflow", "litert"))
    assert [row["label"] for row in fast] == [row["label"] for row in exact]


def test_a_server_answers_with_litert(exported, answers):
    with running(exported.parents[1], engine="litert") as server:
        body = json.dumps({"instances": [{"text": text} for text in exports.TEXTS]}).encode()
        request = urllib.request.Request(f"{server.rest}/v1/models/reports:predict", body)
        with urllib.request.urlopen(request, timeout=60) as response:
            predictions = json.load(response)["predictions"]
    assert [row["label"] for row in predictions] == [label.decode() for label in answers["label"]]
    difference = np.abs(np.array([row["scores"] for row in predictions]) - answers["scores"]).max()
    assert 0 < difference < 0.05  # the int8 file answered
