"""A number for each row: learned in standard deviations of the training targets, predicted in the unit of the file."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from keras import ops

from tfattn.errors import ConfigError
from tfattn.features import LOGITS, PREDICTIONS, TARGET_VALUES, WEIGHTS
from tfattn.tasks.head import Head, mean_of
from tfattn.tasks.number_metrics import number_metrics, spearman
from tfattn.tasks.operating_point import OperatingPoint

Loss = Literal["mean_squared_error", "mean_absolute_error", "huber"]
Range = tuple[float, float]


class RegressionHead(Head):
    """Predicts a number for each row.

    Args:
        width: D, of the vectors that it reads.
        targets: `mean` and `deviation` of the training targets, in the unit of the file.
        loss: what is minimized, of errors in standard deviations of the training targets: "mean_squared_error",
            "mean_absolute_error" or "huber", which is squared up to 1 and absolute beyond.
        range: the least and the greatest number that is predicted, in the unit of the file; None for no bounds. The
            loss is that of the unbounded number, so that a row beyond a bound still teaches.

    Raises:
        ConfigError: the range is empty, or training targets are outside of it.

    Source: Huber 1964, "Robust estimation of a location parameter".
    """

    metric_names = ("mean_absolute_error", "root_mean_squared_error", "r2", "pearson", "spearman")
    monitor = "root_mean_squared_error"
    monitor_mode = "min"

    def __init__(self, *, width: int, targets: dict[str, Any], loss: Loss, range: Range | None = None):
        super().__init__(width=width, units=1)
        self.range = _checked(range, targets)
        self.mean: float = targets["mean"]
        self.deviation: float = targets["deviation"]
        self.loss_names = (loss,)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """1 for each row, (B,)."""
        return {name: ops.cast(batch[WEIGHTS], "float32") for name in self.loss_names}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the loss of each row, (B,), in standard deviations or their squares."""
        [loss] = self.loss_names
        error = outputs[LOGITS][:, 0] - self._standardized(batch)
        if loss == "mean_squared_error":
            return {loss: ops.square(error)}
        size = ops.abs(error)
        return {loss: size if loss == "mean_absolute_error" else ops.where(size <= 1, size * size / 2, size - 0.5)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """`predictions` (B,) float32, in the unit of the file, within the range."""
        predicted = outputs[LOGITS][:, 0] * self.deviation + self.mean
        return {PREDICTIONS: predicted if self.range is None else ops.clip(predicted, *self.range)}

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average all."""
        return mean_of(predictions)

    def of_each_row(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return targets and predictions, (B,) each: neither ranks nor centered squares are sums over batches."""
        return {"true": batch[TARGET_VALUES], **self.predictions(outputs)}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute `number_metrics`, and the rank correlation `spearman`."""
        true, predicted = rows["true"], rows[PREDICTIONS]
        return {**number_metrics(true, predicted), "spearman": spearman(true, predicted)}

    def _standardized(self, batch: dict[str, Any]) -> Any:
        return (batch[TARGET_VALUES] - self.mean) / self.deviation


def _checked(bounds: Range | None, targets: dict[str, Any]) -> Range | None:
    """Refuse bounds in which training targets are not."""
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
            remedy="Widen it, or correct these rows.",
        )
    return bounds
