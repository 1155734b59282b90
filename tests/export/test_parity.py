"""The parity process imports nothing of tfattn, and reports what it cannot run."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tensorflow.core.protobuf import saved_model_pb2

from tfattn.errors import ExportError
from tfattn.export import parity
from tfattn.export.label_outputs import compare_labels


@pytest.fixture(autouse=True)
def new_process(monkeypatch):
    """Checks in a new process, as outside of tests."""
    monkeypatch.setattr(parity, "subprocess", subprocess)


class Asked:
    """What of an export is needed to ask it and to judge its answers."""

    def __init__(self, labels):
        self.labels = labels

    def request(self, rows):
        return {"text": [row["text"] for row in rows]}

    def compare(self, expected, received, *, tolerance):
        return compare_labels(expected, received, labels=self.labels, tolerance=tolerance)


@pytest.fixture
def answered(monkeypatch, rows, expected):
    """Puts answers in place of those of a fresh process."""

    def answered(labels, **changes):
        answers = {
            "label": [labels[index] for index in expected["label_ids"]],
            "label_id": expected["label_ids"].tolist(),
            "scores": expected["scores"].tolist(),
        }
        monkeypatch.setattr(parity, "_ask", lambda *_: ({**answers, **changes}, "2"))
        return parity.check(Asked(labels), None, rows=rows, expected=expected, tolerance=1e-5)

    return answered


def test_equal_predictions_pass(answered):
    assert answered(["a", "b", "c"])["label_agreement"] == 1.0


def test_a_label_of_another_name_fails(answered):
    with pytest.raises(ExportError, match="received 'z'"):
        answered(["a", "b", "c"], label=["z"] * 4)


def test_nan_scores_fail(answered):
    with pytest.raises(ExportError, match="on 4 of 4 rows"):
        answered(["a", "b", "c"], scores=np.full((4, 3), np.nan).tolist())


def test_scores_of_another_shape_fail(answered):
    with pytest.raises(ExportError, match="different shape"):
        answered(["a", "b", "c"], scores=np.zeros((4, 2)).tolist())


def test_the_worker_cannot_import_tfattn():
    head, tensorflow, _ = parity.WORKER.read_text().partition("import tensorflow")
    assert tensorflow
    script = head + "import tfattn"
    ended = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert "import of tfattn halted" in ended.stderr


def test_a_new_process_agrees_and_names_an_unknown_operation(exported, tmp_path, rows, expected):
    labels = [*dict.fromkeys(row["label"] for row in rows)]
    report = parity.check(Asked(labels), exported, rows=rows, expected=expected, tolerance=1e-5)
    assert report["label_agreement"] == 1.0
    shutil.copytree(exported, tmp_path / "export")
    path = tmp_path / "export/saved_model.pb"
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    saved.meta_graphs[0].graph_def.node.add(name="mine", op="MyOwnOperation")
    path.write_bytes(saved.SerializeToString())
    with pytest.raises(ExportError, match="MyOwnOperation"):
        parity.check(Asked(["a", "b", "c"]), tmp_path / "export", rows=rows, expected=expected, tolerance=1e-5)


def test_a_model_that_cannot_be_loaded_is_reported(tmp_path, rows, expected):
    (tmp_path / "saved_model.pb").write_bytes(b"\xff\xff")
    with pytest.raises(ExportError, match="does not run in a plain TensorFlow") as caught:
        parity.check(Asked(["a"]), tmp_path, rows=rows, expected=expected, tolerance=1e-5)
    assert "\n" not in str(caught.value)
    assert json.dumps(caught.value.received)
