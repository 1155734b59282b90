"""The contract of a head: what is predicted of each row by its vector, and how that is taught, read and measured."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn.tasks.operating_point import OperatingPoint


class Head(keras.layers.Dense):
    """A linear map (B, D) -> (B, U), and what its outputs stand for.

    It computes in float32 always: that costs nothing, and predictions are not rounded to bfloat16. What a method means
    is said by the one of the same name in `Task`.

    Args:
        width: D, of the vectors that it reads.
        units: U, the numbers that it needs for a prediction.

    Attributes:
        loss_names, metric_names, monitor, monitor_mode, labels, has_operating_point: as of a Task.
    """

    loss_names: tuple[str, ...] = ()
    metric_names: tuple[str, ...] = ()
    monitor: str = "loss"
    monitor_mode: str = "min"
    labels: list[str] | None = None
    has_operating_point: bool = False

    def __init__(self, *, width: int, units: int):
        initializer = keras.initializers.TruncatedNormal(stddev=0.02)
        super().__init__(units, kernel_initializer=initializer, name="head", dtype="float32")
        self.build((None, width))

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        raise NotImplementedError

    def choose_operating_point(
        self, predictions: dict[str, np.ndarray], targets: dict[str, np.ndarray]
    ) -> OperatingPoint:
        raise NotImplementedError

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return {}

    def of_each_row(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return {}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        raise NotImplementedError


def mean_of(predictions: Sequence[dict[str, Any]], *, but: Sequence[str] = ()) -> dict[str, Any]:
    """Average several predictions, name by name; those of one alone stay as they are.

    Args:
        predictions: tensors or arrays of equal shapes.
        but: names that are left out, because a mean has no meaning for them.
    """
    return {
        name: ops.mean(ops.stack([one[name] for one in predictions]), axis=0) if len(predictions) > 1 else value
        for name, value in predictions[0].items()
        if name not in but
    }
