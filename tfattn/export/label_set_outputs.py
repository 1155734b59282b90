"""Any number of labels for each row, as exports answer them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.label_outputs import (
    CLASSIFY,
    check_labels,
    classes_of,
    comparison,
    explanations,
    score_differences,
    write_labels,
)
from tfattn.export.served import Comparison
from tfattn.export.served_rows import Outputs
from tfattn.features import IS_LABEL
from tfattn.trained.ensemble import TrainedEnsemble


class LabelSetOutputs(Outputs):
    """The labels that rows get, by the mean of the models' scores and a threshold.

    A batch needs as many values of every row, so which labels a row gets is said of each label, in the order of
    labels.txt, which the card of the export and the signature `classify` have too.

        serving_default   scores (B, C) float32, each between 0 and 1; is_label (B, C) bool, whether a row gets a label;
                          and as the model has them essential_features (B, E) and column_attention (B, N + M) float32
        classify          classes (B, C) string, scores (B, C) float32

    Args:
        ensemble: the trained models, with their C labels and their threshold.

    Raises:
        ExportError: a label is empty or has a line break.
    """

    method, signature = CLASSIFY, "classify"
    shown_metrics = ("micro_f1", "baseline_micro_f1", "macro_f1", "subset_accuracy", "micro_average_precision")

    def __init__(self, ensemble: TrainedEnsemble):
        check_labels(ensemble.labels)
        self.labels = self.names = ensemble.labels
        self._threshold: float = ensemble.task.threshold

    def named(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        scores = tf.cast(predictions["scores"], tf.float32)
        return {"scores": scores, IS_LABEL: predictions[IS_LABEL], **explanations(predictions)}

    def of_examples(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return classes_of(self.labels, outputs)

    def about(self) -> dict[str, Any]:
        labels = list(self.labels)
        return {"entries": {"scores": labels, IS_LABEL: labels}, "threshold": self._threshold}

    def compared(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Scores are to be about the same, and so labels but those whose score is at the threshold."""
        differences, wanted = score_differences(expected, received), np.asarray(expected[IS_LABEL])
        is_near = np.abs(np.asarray(expected["scores"]) - self._threshold) <= tolerance
        agree = ((np.asarray(received[IS_LABEL], bool) == wanted) | is_near).all(axis=1)
        return comparison(
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
