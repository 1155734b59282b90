"""Predictions for a split: each row by the models that were not trained on it."""

import keras
import numpy as np

from tfattn.trained import predictions
from tfattn.trained.ensemble import load
from tfattn.trained.predictions import evaluation_split, predict_for_parity, predict_split
from tfattn.training.precision import precision_scope


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


def test_a_split_is_predicted_once(open_run, monkeypatch):
    run = open_run("ensemble=null", "task.specificity=null")
    ensemble = load(run)
    first = predict_split(run, ensemble, "validation")
    monkeypatch.setattr(predictions, "predict", None)
    rows, again = predict_for_parity(run, ensemble)
    assert rows == first.rows
    np.testing.assert_array_equal(again["scores"], first.values["scores"])


def test_a_single_model_has_no_member_predictions(open_run):
    run = open_run("ensemble=null")
    predicted = predict_split(run, load(run), "validation")
    assert predicted.members == () and not predicted.leaked.any()


def test_models_are_loaded_in_float32(open_run):
    run = open_run("ensemble=null")
    with precision_scope("bfloat16"):
        assert load(run).task.compute_dtype == "float32"
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
