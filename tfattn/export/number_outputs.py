"""The outputs of exports that predict a number per row."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfattn.export.label_outputs import calibration_metadata, explanations
from tfattn.export.servable_model import Comparison
from tfattn.export.servable_row_model import Outputs
from tfattn.features import INTERVAL_HIGH, INTERVAL_LOW, PREDICTIONS
from tfattn.trained.ensemble import TrainedEnsemble

REGRESS = "tensorflow/serving/regress"


class NumberOutputs(Outputs):
    """One number per row in the unit of the training file, the mean over the models.

        serving_default   prediction (B,) float32; with a coverage, interval_low and interval_high (B,) float32;
                          essential_features (B, E) and column_attention (B, N + M) float32, if the model has them
        regress           outputs (B,) float32

    Args:
        ensemble: the trained models.
    """

    method, signature = REGRESS, "regress"
    names = ("prediction",)
    headline_metrics = ("mean_absolute_error", "baseline_mean_absolute_error", "r2", "pearson", "spearman")

    def __init__(self, ensemble: TrainedEnsemble):
        self._deviation = min(task.deviation for task in ensemble.tasks)
        self._calibrator = ensemble.calibrator

    def name_outputs(self, predictions: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        interval = {name: predictions[name] for name in (INTERVAL_LOW, INTERVAL_HIGH) if name in predictions}
        return {"prediction": tf.cast(predictions[PREDICTIONS], tf.float32), **interval, **explanations(predictions)}

    def metadata(self) -> dict[str, Any]:
        return {"entries": {}, **calibration_metadata(self._calibrator)}

    def example_outputs(self, outputs: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        return {"outputs": outputs["prediction"]}

    def compare(
        self, expected: Mapping[str, np.ndarray], received: Mapping[str, Sequence[Any]], *, tolerance: float
    ) -> Comparison:
        """Compare numbers within the tolerance, relative to their size or to the deviation of the training targets."""
        wanted = np.asarray(expected[PREDICTIONS], np.float64)
        differences = np.abs(np.asarray(received["prediction"], np.float64) - wanted)
        for name in (INTERVAL_LOW, INTERVAL_HIGH):
            if name in expected:
                ends = np.asarray(received[name], np.float64), np.asarray(expected[name], np.float64)
                differences = np.maximum(differences, np.abs(ends[0] - ends[1]))
        allowed = tolerance * np.maximum(np.abs(wanted), self._deviation)
        largest = float(differences.max())
        return Comparison(
            wrong=~(differences <= allowed),  # NaN counts as wrong
            report={"max_difference": largest},
            words=f"predictions differ by at most {largest:.2g} (allowed: {allowed.min():.2g})",
            expected=lambda row: f"{wanted[row]:.8g} within {allowed[row]:.2g}",
            received=lambda row: f"{received['prediction'][row]:.8g}",
        )
