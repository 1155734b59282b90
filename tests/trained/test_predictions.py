"""Predictions for a split: each row by the models that were not trained on it, at the operating point."""

import keras
import numpy as np
import pytest

from tfattn import files, stages
from tfattn.config.resolve import resolve
from tfattn.runs.identity import Fingerprints
from tfattn.runs.run import Run
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.trained import predictions
from tfattn.trained.ensemble import OPERATING_POINT, load
from tfattn.trained.predictions import choose_operating_point, evaluation_split, predict_for_parity, predict_split
from tfattn.training.checkpoints import Checkpoints
from tfattn.training.precision import precision_scope
from tfattn.training.runtime import Runtime
from tfattn.training.seeding import seeded
from tfattn.training.variables import frozen, trained

PIPELINE = """\
name: tiny
data:
  source: {name: csv, path: rows.csv, fields: {label: kind}}
  preprocessing: {name: table, numeric: [age, height]}
  batching: {batch_size: 8}
model: {name: feature_tokenizer_transformer, hidden_dim: 8, num_layers: 1, num_heads: 2}
task: {name: classification, specificity: 0.5}
ensemble: {folds: 2, seeds: 2}
"""
ROWS = "age,height,kind\n" + "".join(f"{20 + n},{150 + 3 * n % 37},{'ab'[n % 2]}\n" for n in range(24))


@pytest.fixture(scope="module")
def open_run(tmp_path_factory):
    """Return a function that opens a run with overrides, prepared data and untrained weights."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "tiny.yaml").write_text(PIPELINE)
    (folder / "rows.csv").write_text(ROWS)

    def open_run(*overrides):
        places = (f"runs_folder={folder}/runs", f"data.source.path={folder}/rows.csv")
        run = Run(
            resolve(folder / "tiny.yaml", [*places, *overrides]), fingerprints=Fingerprints({}, {}), runtime=Runtime()
        )
        stages.prepare(run)
        for member in run.members:
            if not (member.folder / "checkpoints").exists():
                with seeded(member.training_seed):
                    task = member.task(member.preprocessor())
                kept = Checkpoints(member.folder / "checkpoints", writes=True)
                kept.save_frozen(frozen(task))
                kept.save(1, {"weights": trained(task)}, {"step": 1, "best": None})
        return run

    return open_run


def places(rows):
    return [row["row"].rpartition("/")[2] for row in rows]


def test_each_fold_predicts_its_own_rows_once(open_run):
    run = open_run()
    predicted = predict_split(run, load(run), "validation")
    assert sorted(places(predicted.rows)) == sorted(f"rows.csv:{line}" for line in range(2, 26))
    assert [one.name for one in predicted.members] == [f"fold {f}, seed {s}" for f in (1, 2) for s in (7, 8)]
    scores = [one.values["scores"] for one in predicted.members]
    of_folds = [(scores[0] + scores[1]) / 2, (scores[2] + scores[3]) / 2]
    np.testing.assert_allclose(predicted.values["scores"], np.concatenate(of_folds), atol=1e-6)
    labels = np.array([row["label"] for row in predicted.rows]) == "b"
    np.testing.assert_array_equal(predicted.targets["label_ids"], labels)


def test_all_models_predict_test_rows(open_run):
    run = open_run("data.split.test=0.25", "ensemble={folds: 2}")
    assert evaluation_split(run) == "test" and evaluation_split(open_run()) == "validation"
    ensemble = load(run)
    predicted = predict_split(run, ensemble, "test")
    mean = np.mean([one.values["scores"] for one in predicted.members], axis=0)
    np.testing.assert_allclose(predicted.values["scores"], mean, atol=1e-6)
    # The prepared rows, and the same as they come to an export.
    np.testing.assert_allclose(ensemble.predict(predicted.rows)["scores"], mean, atol=1e-6)


def test_rows_for_parity_are_predicted_by_all_models(open_run):
    run = open_run()
    ensemble = load(run)
    rows, values = predict_for_parity(run, ensemble)
    assert rows == run.members[0].rows("validation")
    scores = np.mean([one["scores"] for one in ensemble.predict_each(rows)], axis=0)
    np.testing.assert_allclose(values["scores"], scores, atol=1e-6)


def test_the_operating_point_is_saved_with_the_run(open_run):
    run = open_run("ensemble=null", "task.specificity=0.8")
    ensemble = load(run)
    assert ensemble.operating_point is None
    choose_operating_point(run, ensemble)
    point = files.read_json(run.folder / OPERATING_POINT, OperatingPoint)
    assert point == ensemble.operating_point == load(run).operating_point
    predicted = predict_split(run, ensemble, "validation")
    np.testing.assert_array_equal(
        predicted.values["label_ids"], predicted.values["scores"][:, 1] >= np.float32(point.threshold)
    )
    choose_operating_point(run, ensemble)  # as if none had been chosen before
    assert ensemble.operating_point == point


def test_a_split_is_predicted_once(open_run, monkeypatch):
    run = open_run("ensemble=null", "task.specificity=null")
    ensemble = load(run)
    first = predict_split(run, ensemble, "validation")
    monkeypatch.setattr(predictions, "predict", None)
    rows, again = predict_for_parity(run, ensemble)
    assert rows == first.rows
    np.testing.assert_array_equal(again["scores"], first.values["scores"])


def test_a_task_without_an_operating_point_saves_none(open_run):
    run = open_run("ensemble=null", "task.specificity=null")
    ensemble = load(run)
    choose_operating_point(run, ensemble)
    assert ensemble.operating_point is None and not (run.folder / OPERATING_POINT).exists()


def test_a_single_model_has_no_member_predictions(open_run):
    run = open_run("ensemble=null")
    predicted = predict_split(run, load(run), "validation")
    assert predicted.members == () and not predicted.leaked.any()


def test_models_are_loaded_in_float32(open_run):
    run = open_run("ensemble=null")
    with precision_scope("bfloat16"):
        assert load(run).task.compute_dtype == "float32"
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
