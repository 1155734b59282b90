"""Exports that predict labels: names of labels and files, examples, and errors."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.label_outputs import LabelOutputs
from tfattn.export.servable_row_model import ServableRowModel, example
from tfattn.export.text_inputs import TextInputs
from tfattn.tasks.calibration import Calibrator
from tfattn.trained.ensemble import TrainedEnsemble


def preprocessor(text):
    def save(folder):
        (folder / "learned.json").write_text(text)
        (folder / "words.txt").write_text(text.upper())

    return SimpleNamespace(fields=("a", "b"), tokens=("pump",), save=save)


def task(compute_dtype="float32", labels=("no", "ja, ß")):
    model = SimpleNamespace(name="bert", max_sequence_length=8)
    return SimpleNamespace(compute_dtype=compute_dtype, weights=[], labels=list(labels), positive_id=None, model=model)


class Columns(TextInputs):
    """Whose members have files of their own."""

    def __init__(self, ensemble):
        super().__init__(ensemble)
        self.preprocessors = ensemble.preprocessors


def serve(members):
    ensemble = TrainedEnsemble(members)
    return ServableRowModel(ensemble, Columns(ensemble), LabelOutputs(ensemble), name="tiny")


def served(*names, **options):
    return serve([(preprocessor(name), task(**options)) for name in names])


def written(folder):
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*")}


def test_the_files_of_a_single_member_keep_their_names(tmp_path):
    served("x").save_assets(tmp_path)
    assert written(tmp_path) == {"learned.json": "x", "words.txt": "X", "labels.txt": "no\nja, ß\n"}


def test_the_files_of_several_members_have_distinct_names(tmp_path):
    """A SavedModel keeps no folders of assets: two files of one name would be table.json and table.json_1."""
    served("x", "y").save_assets(tmp_path)
    assert written(tmp_path) == {
        "labels.txt": "no\nja, ß\n",
        "member_0.learned.json": "x",
        "member_0.words.txt": "X",
        "member_1.learned.json": "y",
        "member_1.words.txt": "Y",
    }


def test_inputs_and_labels_are_known():
    assert served("x", "y").inputs == ("a", "b")
    assert served("x").output_side.labels == ("no", "ja, ß")


@pytest.mark.parametrize("label", ["", "a\nb", "a\rb", "a\u2028b"])
def test_a_label_with_several_lines_is_refused(label):
    with pytest.raises(ExportError, match="cannot be a line of labels.txt"):
        served("x", labels=("fine", label))


def test_every_member_must_compute_in_float32():
    members = [(preprocessor("x"), task()), (preprocessor("y"), task("bfloat16"))]
    with pytest.raises(ExportError, match="expected float32, received bfloat16"):
        serve(members)


def test_an_example_has_numbers_and_texts():
    read = tf.io.parse_single_example(
        example({"age": 39.5, "Straße": "Müller"}),
        {"age": tf.io.FixedLenFeature([], tf.float32), "Straße": tf.io.FixedLenFeature([], tf.string)},
    )
    assert read["age"] == 39.5 and read["Straße"].numpy().decode() == "Müller"
    assert example({"a": 1.0, "b": "x"}) == example({"b": "x", "a": 1.0})


def test_sets_are_compared_except_at_the_threshold():
    fitted = Calibrator(split="calibration", rows=9, temperature=2.0, coverage=0.9, score_thresholds=[0.5, 0.5])
    outputs = LabelOutputs(TrainedEnsemble([(preprocessor("x"), task())], calibrator=fitted))
    metadata = outputs.metadata()
    assert (metadata["temperature"], metadata["coverage"]) == (2.0, 0.9)
    assert metadata["entries"]["in_prediction_set"] == ["no", "ja, ß"]
    scores = np.array([[0.7, 0.3], [0.5, 0.5]])
    expected = {"scores": scores, "label_ids": np.array([0, 0]), "in_prediction_set": scores >= 0.5}
    received = {"scores": scores, "label": ["no", "no"], "label_id": [0, 0]}
    for mask, wrong in (
        ([[True, False], [True, True]], [False, False]),
        ([[True, False], [False, True]], [False, False]),  # rounding decides at the threshold
        ([[True, True], [True, True]], [True, False]),
    ):
        compared = outputs.compare(expected, {**received, "in_prediction_set": mask}, tolerance=1e-5)
        assert compared.wrong.tolist() == wrong
    assert "in_prediction_set" not in served("x").output_side.metadata()["entries"]
