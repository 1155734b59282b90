"""A task that predicts something of each row as a whole: a backbone reads it, a head predicts."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tfattn.features import ENCODED, LOGITS, PREDICTIONS
from tfattn.ops.segments import mean_by_row
from tfattn.tasks.backbone import EXPLANATIONS, Backbone
from tfattn.tasks.head import Head
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.task import Task


class RowTask(Task):
    """Joins what reads rows and what is predicted of them, neither of which knows the other.

    Args:
        backbone: makes a vector of each row.
        head: predicts by that vector, and knows how that is taught, combined and measured.
        name: of the task.

    Call arguments:
        features: what the backbone reads, or `encoded` (B, D), its vectors computed before.

    Returns:
        a dictionary of `logits` (B, U) float32, `encoded` (B, D) float32, what the head reads, and what else the
        backbone tells: where the model has them, `essential_features` (B, E) and `column_attention` (B, N + M),
        float32.
    """

    predicts_together = True

    def __init__(self, backbone: Backbone, head: Head, *, name: str):
        super().__init__(name=name, autocast=False)
        self.backbone = backbone
        self.head = head
        self.encoder_is_frozen = backbone.is_frozen
        self.loss_names, self.metric_names = head.loss_names, head.metric_names
        self.monitor, self.monitor_mode = head.monitor, head.monitor_mode
        self.labels = head.labels
        self.has_operating_point = head.has_operating_point
        self.built = True

    @property
    def model(self) -> keras.Model:
        """What reads the rows."""
        return self.backbone.model

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        is_known = ENCODED in features
        outputs = {ENCODED: features[ENCODED]} if is_known else self.backbone.encode(features, training=training)
        return {LOGITS: self.head(self.backbone.dropped(outputs[ENCODED], training=training)), **outputs}

    def encode(self, features: dict[str, Any], training: bool = False) -> Any:
        return self.backbone.encode(features, training=training)[ENCODED]

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        return self.head.loss_weights(batch)

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return self.head.loss_terms(outputs, batch)

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the predictions of the head, and the explanations that the model has."""
        explanations = {name: outputs[name] for name in EXPLANATIONS if name in outputs}
        return self.head.predictions(outputs) | explanations

    def scores_of(self, features: dict[str, Any]) -> Any:
        """Compute the scores of all labels; of a number, that alone."""
        predictions = self.head.predictions(self(features))
        return predictions["scores"] if "scores" in predictions else predictions[PREDICTIONS][:, None]

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        return self.head.combined(predictions, operating_point)

    def gathered(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Average the predictions for the examples of each row, and let the head decide by that."""
        return self.head.combined([{name: mean_by_row(x, rows, num_rows) for name, x in predictions.items()}])

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
    ) -> OperatingPoint:
        return self.head.choose_operating_point(predictions, targets)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return self.head.statistics(outputs, batch)

    def of_each_row(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return self.head.of_each_row(outputs, batch)

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        return self.head.metrics_from(statistics, rows)

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.backbone.depth_groups(), self.head.trainable_variables]
