"""One label for each row, as exports answer it."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.served import Comparison
from tfattn.export.served_rows import Outputs
from tfattn.features import LABEL_IDS
from tfattn.tasks.backbone import EXPLANATIONS
from tfattn.trained.ensemble import TrainedEnsemble

CLASSIFY = "tensorflow/serving/classify"
LABELS_FILE = "labels.txt"


class LabelOutputs(Outputs):
    """The label that rows get, together by the mean of the models' scores.

        serving_default   label (B,) string, label_id (B,) int64, scores (B, C) float32; where it is asked for,
                          probability (B,) float32 of the positive label (of the one that is given, where none is
                          positive); and as the model has them essential_features (B, E) and column_attention (B, N + M)
                          float32
        classify          classes (B, C) string, scores (B, C) float32

    Args:
        ensemble: the trained models, with their C labels, and the operating point of the positive label, where one was
            chosen.
        with_probability: whether `probability` is answered.

    Raises:
        ExportError: a label is empty or has a line break.
    """

    method, signature = CLASSIFY, "classify"
    shown_metrics = ("accuracy", "baseline_accuracy", "sensitivity", "specificity", "roc_auc")

    def __init__(self, ensemble: TrainedEnsemble, *, with_probability: bool = False):
        check_labels(ensemble.labels)
        self.labels = self.names = ensemble.labels
        self._positive_id: int | None = ensemble.task.positive_id
        self._threshold = ensemble.operating_point and ensemble.operating_point.threshold
        self._with_probability = with_probability

    def named(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        scores, label_ids = tf.cast(predictions["scores"], tf.float32), tf.cast(predictions[LABEL_IDS], tf.int64)
        outputs = {"label": tf.gather(tf.constant(self.labels), label_ids), "label_id": label_ids, "scores": scores}
        if self._with_probability:
            asked = label_ids if self._positive_id is None else tf.ones_like(label_ids) * self._positive_id
            outputs["probability"] = tf.gather(scores, asked, batch_dims=1)
        return outputs | explanations(predictions)

    def of_examples(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return classes_of(self.labels, outputs)

    def about(self) -> dict[str, Any]:
        positive = None if self._positive_id is None else self.labels[self._positive_id]
        return {"entries": {"scores": list(self.labels)}, "positive": positive, "threshold": self._threshold}

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Labels are to be the same, scores about the same."""
        return compared(expected, received, labels=self.labels, tolerance=tolerance)

    def save_assets(self, folder: Path) -> None:
        """Write labels.txt."""
        write_labels(folder, self.labels)


def explanations(predictions: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Return what a model says about how it came to its prediction."""
    return {name: tf.cast(predictions[name], tf.float32) for name in EXPLANATIONS if name in predictions}


def classes_of(labels: Sequence[str], outputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
    """Return the outputs of TF Serving's Classify: every label of every row, with its score."""
    scores = outputs["scores"]
    return {"classes": tf.broadcast_to(tf.constant(labels), tf.shape(scores)), "scores": scores}


def write_labels(folder: Path, labels: Sequence[str]) -> None:
    """Write a label per line, in the order of their scores."""
    (folder / LABELS_FILE).write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")


def compared(
    expected: Mapping[str, np.ndarray],
    received: Mapping[str, Sequence[Any]],
    *,
    labels: Sequence[str],
    tolerance: float,
) -> Comparison:
    """Compare an export's `label` (N,), `label_id` (N,) and `scores` (N, C) with `label_ids` and `scores`.

    Raises:
        ExportError: there are not as many scores as labels.
    """
    expected_ids, differences = np.asarray(expected["label_ids"]), score_differences(expected, received)
    agree = np.asarray([labels[index] for index in expected_ids]) == np.asarray(received["label"])
    agree &= expected_ids == np.asarray(received["label_id"])
    return comparison(
        agree,
        differences,
        tolerance=tolerance,
        expected=lambda row: repr(labels[expected_ids[row]]),
        received=lambda row: repr(received["label"][row]),
    )


def comparison(
    agree: np.ndarray,
    differences: np.ndarray,
    *,
    tolerance: float,
    expected: Callable[[int], str],
    received: Callable[[int], str],
) -> Comparison:
    """Make the comparison of labels and scores.

    Args:
        agree: (N,) bool, whether the labels of a row are the same.
        differences: (N,), the largest difference of a score of each row.
        tolerance: the largest that is allowed.
        expected, received: the labels of a row in words.
    """
    largest = float(differences.max())
    return Comparison(
        wrong=~agree | ~(differences <= tolerance),  # so written, NaN is wrong too
        report={"label_agreement": float(agree.mean()), "max_score_difference": largest},
        words=f"labels agree on {agree.sum()} of {len(agree)} rows, "
        f"scores differ by at most {largest:.2g} (allowed: {tolerance:g})",
        expected=lambda row: f"{expected(row)} and scores within {tolerance:g}",
        received=lambda row: f"{received(row)} and a score off by {differences[row]:.3g}",
    )


def score_differences(expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]]) -> np.ndarray:
    """Return the largest difference of a score of each row, (N,).

    Raises:
        ExportError: there are not as many scores as labels.
    """
    wanted = np.asarray(expected["scores"], np.float64)
    scores = np.asarray(received["scores"], np.float64).reshape(len(wanted), -1)
    if scores.shape != wanted.shape:
        raise ExportError(
            "the export predicts in another shape", expected=str(wanted.shape), received=str(scores.shape)
        )
    return np.abs(scores - wanted).max(axis=1)


def check_labels(labels: Sequence[str]) -> None:
    """Refuse labels that labels.txt could not hold.

    Raises:
        ExportError: one is empty or has a line break.
    """
    for label in labels:
        if not label or len(label.splitlines()) > 1:
            raise ExportError(
                "a label cannot be a line of labels.txt", expected="text without line breaks", received=repr(label)
            )
