"""The outputs of exports that predict one label per row."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.servable_model import Comparison
from tfattn.export.servable_row_model import Outputs
from tfattn.features import IN_PREDICTION_SET, LABEL_IDS
from tfattn.tasks.backbone import EXPLANATIONS
from tfattn.tasks.calibration import Calibrator
from tfattn.trained.ensemble import TrainedEnsemble

CLASSIFY = "tensorflow/serving/classify"
LABELS_FILE = "labels.txt"


class LabelOutputs(Outputs):
    """One label per row. Scores are the mean over the models.

        serving_default   label (B,) string; label_id (B,) int64; scores (B, C) float32; with `with_probability`,
                          probability (B,) float32 of the positive label (of the predicted label if none is positive);
                          with a coverage, in_prediction_set (B, C) bool, the labels of the prediction set;
                          essential_features (B, E) and column_attention (B, N + M) float32, if the model has them
        classify          classes (B, C) string, scores (B, C) float32

    Args:
        ensemble: the trained models, with their C labels, and the operating point and calibrator, if any.
        with_probability: whether to return `probability`.

    Raises:
        ExportError: a label is empty or has a line break.
    """

    method, signature = CLASSIFY, "classify"
    headline_metrics = ("accuracy", "baseline_accuracy", "sensitivity", "specificity", "roc_auc")

    def __init__(self, ensemble: TrainedEnsemble, *, with_probability: bool = False):
        check_labels(ensemble.labels)
        self.labels = self.names = ensemble.labels
        self._positive_id: int | None = ensemble.task.positive_id
        self._threshold = ensemble.operating_point and ensemble.operating_point.threshold
        self._with_probability = with_probability
        self._calibrator = ensemble.calibrator

    def name_outputs(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        scores, label_ids = tf.cast(predictions["scores"], tf.float32), tf.cast(predictions[LABEL_IDS], tf.int64)
        outputs = {"label": tf.gather(tf.constant(self.labels), label_ids), "label_id": label_ids, "scores": scores}
        if self._with_probability:
            selected = label_ids if self._positive_id is None else tf.ones_like(label_ids) * self._positive_id
            outputs["probability"] = tf.gather(scores, selected, batch_dims=1)
        if IN_PREDICTION_SET in predictions:
            outputs[IN_PREDICTION_SET] = predictions[IN_PREDICTION_SET]
        return outputs | explanations(predictions)

    def example_outputs(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return classify_outputs(self.labels, outputs)

    def metadata(self) -> dict[str, Any]:
        positive = None if self._positive_id is None else self.labels[self._positive_id]
        metadata = {"positive": positive, "threshold": self._threshold, **calibration_metadata(self._calibrator)}
        named = ["scores", *([IN_PREDICTION_SET] if metadata.get("coverage") else [])]
        return {"entries": {name: list(self.labels) for name in named}, **metadata}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare labels and sets for equality and scores within the tolerance; near a threshold sets may differ."""
        agree = np.ones(len(expected["scores"]), bool)
        if IN_PREDICTION_SET in expected:
            thresholds = np.asarray(self._calibrator.score_thresholds)
            is_near = np.abs(np.asarray(expected["scores"]) - thresholds) <= tolerance
            same = np.asarray(received[IN_PREDICTION_SET], bool) == np.asarray(expected[IN_PREDICTION_SET])
            agree = (same | is_near).all(axis=1)
        return compare_labels(expected, received, labels=self.labels, tolerance=tolerance, agree=agree)

    def save_assets(self, folder: Path) -> None:
        """Write labels.txt."""
        write_labels(folder, self.labels)


def explanations(predictions: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Return the outputs of the model that explain its predictions, in float32."""
    return {name: tf.cast(predictions[name], tf.float32) for name in EXPLANATIONS if name in predictions}


def calibration_metadata(calibrator: Calibrator | None) -> dict[str, Any]:
    """Return the temperature and the coverage for the card of an export; nothing without a calibrator."""
    if calibrator is None:
        return {}
    facts = {"temperature": calibrator.temperature, "coverage": calibrator.coverage}
    return {name: value for name, value in facts.items() if value is not None}


def classify_outputs(labels: Sequence[str], outputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Return the outputs of TF Serving's Classify: all labels of each row, with scores."""
    scores = outputs["scores"]
    return {"classes": tf.broadcast_to(tf.constant(labels), tf.shape(scores)), "scores": scores}


def write_labels(folder: Path, labels: Sequence[str]) -> None:
    """Write labels.txt, one label per line, in the order of the scores."""
    (folder / LABELS_FILE).write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")


def compare_labels(
    expected: Mapping[str, np.ndarray],
    received: Mapping[str, Sequence[Any]],
    *,
    labels: Sequence[str],
    tolerance: float,
    agree: np.ndarray | bool = True,
) -> Comparison:
    """Compare an export's `label` (N,), `label_id` (N,) and `scores` (N, C) with `label_ids` and `scores`.

    Args:
        expected, received: predictions of the trained model and outputs of the export, N values each, by name.
        labels: the C labels.
        tolerance: the largest allowed difference of a score.
        agree: (N,) bool, whether the other outputs of a row are equal.

    Raises:
        ExportError: the shapes of the scores differ.
    """
    expected_ids, differences = np.asarray(expected["label_ids"]), score_differences(expected, received)
    agree = agree & (np.asarray([labels[index] for index in expected_ids]) == np.asarray(received["label"]))
    agree &= expected_ids == np.asarray(received["label_id"])
    return label_comparison(
        agree,
        differences,
        tolerance=tolerance,
        expected=lambda row: repr(labels[expected_ids[row]]),
        received=lambda row: repr(received["label"][row]),
    )


def label_comparison(
    agree: np.ndarray,
    differences: np.ndarray,
    *,
    tolerance: float,
    expected: Callable[[int], str],
    received: Callable[[int], str],
) -> Comparison:
    """Return the comparison of labels and scores.

    Args:
        agree: (N,) bool, whether the labels of a row are equal.
        differences: (N,), the largest score difference per row.
        tolerance: the largest allowed difference.
        expected, received: return the labels of a row as text.
    """
    largest = float(differences.max())
    return Comparison(
        wrong=~agree | ~(differences <= tolerance),  # NaN counts as wrong
        report={"label_agreement": float(agree.mean()), "max_score_difference": largest},
        words=f"labels agree on {agree.sum()} of {len(agree)} rows, "
        f"scores differ by at most {largest:.2g} (allowed: {tolerance:g})",
        expected=lambda row: f"{expected(row)} and scores within {tolerance:g}",
        received=lambda row: f"{received(row)} and a score off by {differences[row]:.3g}",
    )


def score_differences(expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]]) -> np.ndarray:
    """Return the largest score difference per row, (N,).

    Raises:
        ExportError: the shapes of the scores differ.
    """
    wanted = np.asarray(expected["scores"], np.float64)
    scores = np.asarray(received["scores"], np.float64).reshape(len(wanted), -1)
    if scores.shape != wanted.shape:
        raise ExportError(
            "the scores of the export have a different shape", expected=str(wanted.shape), received=str(scores.shape)
        )
    return np.abs(scores - wanted).max(axis=1)


def check_labels(labels: Sequence[str]) -> None:
    """Check that labels can be lines of labels.txt.

    Raises:
        ExportError: a label is empty or has a line break.
    """
    for label in labels:
        if not label or len(label.splitlines()) > 1:
            raise ExportError(
                "a label cannot be a line of labels.txt", expected="text without line breaks", received=repr(label)
            )
