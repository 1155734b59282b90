"""Regression: a number for a text, a pair of texts, a row of a table or an image."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from keras import ops

from tfattn.config.types import Given, Rate
from tfattn.errors import ConfigError
from tfattn.features import LOGITS, PREDICTIONS, TARGET_VALUES, WEIGHTS
from tfattn.tasks.calibration import Calibration, Calibrator, fit_numbers
from tfattn.tasks.number_metrics import number_metrics, spearman
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.row_task import PooledLayers, Pooling, RowEncoder, RowTask, Training, average_predictions

Loss = Literal["mean_squared_error", "mean_absolute_error", "huber"]
Range = tuple[float, float]


class Regression(RowTask):
    """A linear regression on top of an encoder, with one number for each row.

    The loss is computed in standard deviations of the training targets; predictions are in the unit of the file.

    The arguments of the backbone are explained in RowTask.

    Args:
        targets: known from the data: `mean` and standard `deviation` of the training targets, in the unit of the file.
        loss: "mean_squared_error", "mean_absolute_error", or "huber", which is squared up to one standard deviation of
            the training targets and absolute beyond.
        range: the smallest and the largest number that is predicted, such as [0, 5]; null for no bounds. The loss uses
            the unbounded number, so that rows beyond a bound still have a gradient.

    Returns:
        as RowTask; `predictions` has `predictions` (B,) float32.

    Raises:
        ConfigError: the range is empty, training targets are outside of it, or an option of texts is given for another
            model.

    Example:
        >>> import keras
        >>> from tfattn.models.feature_map_transformer import FeatureMapTransformer
        >>> model = FeatureMapTransformer(num_numeric=14, category_counts=[])
        >>> task = Regression(model=model, targets={"mean": 40.0, "deviation": 12.0})
        >>> task.predictions(task({"numeric": keras.random.normal((1, 14))}))["predictions"].shape
        TensorShape([1])

    Source: Huber 1964, "Robust estimation of a location parameter".
    """

    metric_names = ("mean_absolute_error", "root_mean_squared_error", "r2", "pearson", "spearman")
    calibratable = ("coverage",)
    monitor = "root_mean_squared_error"
    monitor_mode = "min"

    def __init__(
        self,
        *,
        model: Given[RowEncoder],
        targets: Given[dict[str, Any]],
        encoder: Training = "fine_tune",
        pooling: Pooling | None = None,
        pooled_layers: PooledLayers | None = None,
        dropout: Rate | None = None,
        loss: Loss = "mean_squared_error",
        range: Range | None = None,
    ):
        super().__init__(
            model=model,
            encoder=encoder,
            pooling=pooling,
            pooled_layers=pooled_layers,
            dropout=dropout,
            units=1,
            name="regression",
        )
        self.range = _checked(range, targets)
        self.mean: float = targets["mean"]
        self.deviation: float = targets["deviation"]
        self.loss_names = (loss,)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each row, (B,)."""
        return {name: ops.cast(batch[WEIGHTS], "float32") for name in self.loss_names}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the loss of each row, (B,), in standard deviations or squared standard deviations."""
        [loss] = self.loss_names
        error = self.trained_logits(outputs)[:, :, 0] - self._standardized(batch)[:, None]
        if loss == "mean_squared_error":
            losses = ops.square(error)
        else:
            size = ops.abs(error)
            losses = size if loss == "mean_absolute_error" else ops.where(size <= 1, size * size / 2, size - 0.5)
        return {loss: ops.mean(losses, axis=1)}

    def merge_logits(self, logits: Any) -> Any:
        """Compute the mean over members, (B, K, 1) -> (B, 1)."""
        return ops.mean(logits, axis=1)

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `predictions` (B,) float32, in the unit of the file, within the range."""
        predicted = outputs[LOGITS][:, 0] * self.deviation + self.mean
        bounded = predicted if self.range is None else ops.clip(predicted, *self.range)
        return {PREDICTIONS: bounded, **self.explanations(outputs)}

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average the predictions."""
        return average_predictions(predictions)

    def calibrate(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        *,
        options: Calibration,
        split: str,
    ) -> Calibrator:
        """Fit the width of prediction intervals."""
        predicted, true = predictions[PREDICTIONS], targets[TARGET_VALUES]
        return fit_numbers(options, predicted, true, bounds=self.range, split=split)

    def per_example(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return targets and predictions, (B,) each: ranks and centered squares are not sums over batches."""
        return {"true": batch[TARGET_VALUES], PREDICTIONS: self.predictions(outputs)[PREDICTIONS]}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute `number_metrics` and the rank correlation `spearman`."""
        true, predicted = rows["true"], rows[PREDICTIONS]
        return {**number_metrics(true, predicted), "spearman": spearman(true, predicted)}

    def _standardized(self, batch: dict[str, Any]) -> Any:
        return (batch[TARGET_VALUES] - self.mean) / self.deviation


def _checked(bounds: Range | None, targets: dict[str, Any]) -> Range | None:
    """Check that the bounds include all training targets."""
    if bounds is None:
        return None
    low, high = bounds
    if not low < high:
        raise ConfigError("the range is empty", key="range", expected="low < high", received=str([*bounds]))
    if targets.get("low", low) < low or targets.get("high", high) > high:
        raise ConfigError(
            "training targets are outside of the range",
            key="range",
            expected=f"a range that includes {targets['low']:g} and {targets['high']:g}",
            received=str([*bounds]),
            remedy="Widen the range, or correct these rows.",
        )
    return bounds
