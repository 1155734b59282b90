"""Ensembles: combined predictions for rows of tables and texts, independent of the batch."""

import keras
import numpy as np
import pytest

from tfattn.models.bert import Bert
from tfattn.models.feature_tokenizer_transformer import FeatureTokenizerTransformer
from tfattn.preprocessing.table import TableColumns
from tfattn.preprocessing.wordpiece import WordPiece
from tfattn.tasks.calibration import Calibrator
from tfattn.tasks.classification import Classification
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.trained.ensemble import TrainedEnsemble

ROWS = [{"age": str(20 + 3 * row), "hours": str(row * row % 7)} for row in range(8)]
TEXTS = [{"text": "a b a"}, {"text": ""}, {"text": "b"}]


@pytest.fixture(scope="module")
def tables():
    """An ensemble of two table models, whose preprocessors were fitted on different rows."""

    def model(rows, seed):
        table = TableColumns(numeric=("age", "hours"))
        table.fit(rows)
        task = Classification(
            model=FeatureTokenizerTransformer(**table.sizes, hidden_dim=8, num_layers=1, num_heads=2),
            targets={"labels": ["no", "yes"], "counts": [1, 1]},
        )
        task.head.kernel.assign(np.random.default_rng(seed).normal(size=(8, 2)))
        return table, task

    return [model(ROWS, 1), model(ROWS[:5], 2)]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """An ensemble of a single text model."""
    vocabulary = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    vocabulary.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\na\nb\n")
    reader = WordPiece(vocabulary=str(vocabulary), max_length=8)
    reader.fit([])
    bert = Bert(vocabulary_size=6, hidden_dim=8, num_layers=1, num_heads=2, intermediate_dim=8, max_sequence_length=8)
    task = Classification(model=bert, targets={"labels": ["no", "yes"], "counts": [1, 1]})
    task.head.kernel.assign(np.random.default_rng(1).normal(size=(8, 2)))
    return TrainedEnsemble([(reader, task)])


def test_ensemble_scores_are_the_mean(tables):
    ensemble = TrainedEnsemble(tables)
    one, other = ensemble.predict_each(ROWS)
    together = ensemble.predict(ROWS)
    assert np.abs(one["scores"] - other["scores"]).max() > 1e-3
    np.testing.assert_allclose(together["scores"], (one["scores"] + other["scores"]) / 2, atol=1e-6)
    np.testing.assert_array_equal(together["label_ids"], together["scores"].argmax(axis=1))
    alone = TrainedEnsemble(tables[1:]).predict(ROWS)
    np.testing.assert_allclose(alone["scores"], other["scores"], atol=1e-6)


def test_the_operating_point_decides_the_label(tables):
    scores = TrainedEnsemble(tables).predict(ROWS)["scores"][:, 1]
    for threshold in (0.0, float(np.sort(scores)[-3]), 1.1):
        ensemble = TrainedEnsemble(tables, operating_point=OperatingPoint(threshold, metrics={}))
        np.testing.assert_array_equal(ensemble.predict(ROWS)["label_ids"], scores >= threshold)


def test_padding_does_not_change_predictions(texts):
    together = texts.predict(TEXTS)["scores"]
    alone = np.concatenate([texts.predict([row])["scores"] for row in TEXTS])
    np.testing.assert_allclose(together, alone, atol=1e-6)


def test_keras_settings_are_not_changed(tables):
    before = keras.config.dtype_policy()
    TrainedEnsemble(tables).predict(ROWS)
    assert keras.config.dtype_policy() == before


def test_a_calibrator_acts_on_the_mean_scores(tables):
    mean = TrainedEnsemble(tables).predict(ROWS)["scores"].astype("float64")
    fitted = Calibrator(split="calibration", rows=9, temperature=0.5, coverage=0.9, score_thresholds=[0.6, 0.6])
    point = OperatingPoint(float(np.median(mean[:, 1] ** 2 / (mean**2).sum(axis=1))))
    found = TrainedEnsemble(tables, operating_point=point, calibrator=fitted).predict(ROWS)
    np.testing.assert_allclose(found["scores"], mean**2 / (mean**2).sum(axis=1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(found["uncalibrated_scores"], mean, rtol=1e-6)
    np.testing.assert_array_equal(found["in_prediction_set"], found["scores"] >= np.float32(0.6))
    np.testing.assert_array_equal(found["label_ids"], found["scores"][:, 1] >= np.float32(point.threshold))
