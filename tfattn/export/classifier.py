"""What exported classifiers have in common: the names of labels, and the signature that takes tf.Examples."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.errors import ExportError
from tfattn.export.served import Comparison, Served
from tfattn.trained.ensemble import TrainedEnsemble

CLASSIFY = "tensorflow/serving/classify"


class Classifier(Served):
    """Models that give every row one of C labels, together by the mean of their scores.

    Args:
        ensemble: the trained models, and the C labels.

    Attributes:
        labels: the C label names in the order of their ids.

    Raises:
        ExportError: a task computes in another type than float32, or a label is empty or has a line break.
    """

    methods = {"classify": CLASSIFY}
    shown_metrics = ("accuracy", "baseline_accuracy")

    def __init__(self, ensemble: TrainedEnsemble, *, name: str):
        _check(ensemble.labels)
        super().__init__(ensemble, name=name)
        self._labels = ensemble.labels

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    def about(self) -> dict[str, Any]:
        about = super().about()
        return about | {"entries": about["entries"] | {"scores": list(self.labels)}}

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Labels are to be the same, scores about the same."""
        return compared(expected, received, labels=self.labels, tolerance=tolerance)

    def save_assets(self, folder: Path) -> None:
        """Writes labels.txt, and the preprocessor's files."""
        super().save_assets(folder)
        (folder / "labels.txt").write_text("".join(f"{label}\n" for label in self.labels), encoding="utf-8")


def compared(
    expected: Mapping[str, np.ndarray],
    received: Mapping[str, Sequence[Any]],
    *,
    labels: Sequence[str],
    tolerance: float,
) -> Comparison:
    """Holds an export's `label` (N,), `label_id` (N,) and `scores` (N, C) against `label_ids` and `scores`.

    Raises:
        ExportError: there are not as many scores as labels.
    """
    expected_ids, expected_scores = np.asarray(expected["label_ids"]), np.asarray(expected["scores"], np.float64)
    scores = np.asarray(received["scores"], np.float64).reshape(len(expected_ids), -1)
    if scores.shape != expected_scores.shape:
        raise ExportError(
            "the export predicts in another shape", expected=str(expected_scores.shape), received=str(scores.shape)
        )
    differences = np.abs(scores - expected_scores).max(axis=1)
    agree = np.asarray([labels[index] for index in expected_ids]) == np.asarray(received["label"])
    agree &= expected_ids == np.asarray(received["label_id"])
    largest = float(differences.max())
    return Comparison(
        wrong=~agree | ~(differences <= tolerance),  # so written, NaN is wrong too
        report={"label_agreement": float(agree.mean()), "max_score_difference": largest},
        words=f"labels agree on {agree.sum()} of {len(agree)} rows, "
        f"scores differ by at most {largest:.2g} (allowed: {tolerance:g})",
        expected=lambda row: f"{labels[expected_ids[row]]!r} and scores within {tolerance:g}",
        received=lambda row: f"{received['label'][row]!r} and a score off by {differences[row]:.3g}",
    )


def example(row: Mapping[str, str | float]) -> bytes:
    """A row as a serialized tf.Example."""
    built = tf.train.Example()
    for name, value in row.items():
        feature = built.features.feature[name]
        if isinstance(value, str):
            feature.bytes_list.value.append(value.encode("utf-8"))
        else:
            feature.float_list.value.append(value)
    return built.SerializeToString(deterministic=True)


def _check(labels: Sequence[str]) -> None:
    for label in labels:
        if not label or len(label.splitlines()) > 1:
            raise ExportError(
                "a label cannot be a line of labels.txt", expected="text without line breaks", received=repr(label)
            )
