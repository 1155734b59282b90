"""The outputs of exports that predict any number of labels per row."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.label_outputs import (
    CLASSIFY,
    calibration_metadata,
    check_labels,
    classify_outputs,
    explanations,
    label_comparison,
    score_differences,
    write_labels,
)
from tfattn.export.servable_model import Comparison
from tfattn.export.servable_row_model import Outputs
from tfattn.features import IS_LABEL
from tfattn.trained.ensemble import TrainedEnsemble


class LabelSetOutputs(Outputs):
    """Any number of labels per row: labels whose mean score over the models reaches a threshold.

    The labels of a row are a mask over all labels, in the order of labels.txt, so that every row has as many values.

        serving_default   scores (B, C) float32, between 0 and 1; is_label (B, C) bool, whether a row has a label;
                          essential_features (B, E) and column_attention (B, N + M) float32, if the model has them
        classify          classes (B, C) string, scores (B, C) float32

    Args:
        ensemble: the trained models, with C labels and a threshold, and a calibrator, if any.

    Raises:
        ExportError: a label is empty or has a line break.
    """

    method, signature = CLASSIFY, "classify"
    headline_metrics = ("micro_f1", "baseline_micro_f1", "macro_f1", "subset_accuracy", "micro_average_precision")

    def __init__(self, ensemble: TrainedEnsemble):
        check_labels(ensemble.labels)
        self.labels = self.names = ensemble.labels
        point = ensemble.operating_point
        self._threshold: float = ensemble.task.threshold if point is None else point.threshold
        self._calibrator = ensemble.calibrator

    def name_outputs(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        scores = tf.cast(predictions["scores"], tf.float32)
        return {"scores": scores, IS_LABEL: predictions[IS_LABEL], **explanations(predictions)}

    def example_outputs(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return classify_outputs(self.labels, outputs)

    def metadata(self) -> dict[str, Any]:
        labels = list(self.labels)
        entries = {"scores": labels, IS_LABEL: labels}
        return {"entries": entries, "threshold": self._threshold, **calibration_metadata(self._calibrator)}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare scores within the tolerance, and labels for equality except for scores at the threshold."""
        differences, wanted = score_differences(expected, received), np.asarray(expected[IS_LABEL])
        is_near = np.abs(np.asarray(expected["scores"]) - self._threshold) <= tolerance
        agree = ((np.asarray(received[IS_LABEL], bool) == wanted) | is_near).all(axis=1)
        return label_comparison(
            agree,
            differences,
            tolerance=tolerance,
            expected=lambda row: self._words(wanted[row]),
            received=lambda row: self._words(received[IS_LABEL][row]),
        )

    def save_assets(self, folder: Path) -> None:
        """Write labels.txt."""
        write_labels(folder, self.labels)

    def _words(self, has: Sequence[bool]) -> str:
        return ", ".join(repr(label) for label, is_label in zip(self.labels, has, strict=True) if is_label) or "none"
