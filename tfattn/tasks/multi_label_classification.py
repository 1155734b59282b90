"""Multi-label classification: any number of labels for a text, a pair of texts, a row of a table or an image."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from keras import ops
from pydantic import PositiveFloat

from tfattn.config.types import Fraction, Given, Rate
from tfattn.features import COMPLEMENTS, IS_LABEL, LABEL_INDICATORS, LOGITS, WEIGHTS
from tfattn.tasks.calibration import Calibration, Calibrator, fit_labels
from tfattn.tasks.classification import CROSS_ENTROPY, check_label
from tfattn.tasks.label_metrics import LabelSetCounts
from tfattn.tasks.operating_point import Criterion, OperatingPoint, optimize
from tfattn.tasks.row_task import PooledLayers, Pooling, RowEncoder, RowTask, Training, average_predictions


class MultiLabelClassification(RowTask):
    """A linear classifier on top of an encoder, with any number of labels for each row.

    The arguments of the backbone are explained in RowTask.

    Args:
        targets: known from the data: the C `labels` in the order of their ids, None until they are read, `counts`, the
            number of training rows with each label, and `rows`, the number of training rows.
        class_weights: the weight in the loss of a row that has a label, for that label: "balanced" gives the rows that
            have a label the same total weight as the rows that do not, a table such as {Leak: 2.0} gives the weight of
            some labels (others have 1).
        threshold: the minimum score at which a row gets a label; `calibration.threshold` replaces it.

    Returns:
        as RowTask; `predictions` has `scores` (B, C) float32, each between 0 and 1, `complements` (B, C), one minus the
        scores, and `is_label` (B, C) bool.

    Raises:
        ConfigError: class_weights names a label that the data do not have, or an option of texts is given for another
            model.

    Example:
        >>> import keras
        >>> from tfattn.models.feature_map_transformer import FeatureMapTransformer
        >>> model = FeatureMapTransformer(num_numeric=14, category_counts=[])
        >>> targets = {"labels": ["a", "b", "c"], "counts": [5, 3, 2], "rows": 9}
        >>> task = MultiLabelClassification(model=model, targets=targets)
        >>> task.predictions(task({"numeric": keras.random.normal((1, 14))}))["is_label"].shape
        TensorShape([1, 3])
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = (
        *("subset_accuracy", "subset_accuracy_low", "subset_accuracy_high", "hamming_loss"),
        *("micro_precision", "micro_recall", "micro_f1", "macro_precision", "macro_recall", "macro_f1"),
    )
    calibratable = ("temperature", "threshold")
    monitor = "micro_f1"
    monitor_mode = "max"

    def __init__(
        self,
        *,
        model: Given[RowEncoder],
        targets: Given[dict[str, Any]],
        encoder: Training = "fine_tune",
        pooling: Pooling | None = None,
        pooled_layers: PooledLayers | None = None,
        dropout: Rate | None = None,
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        threshold: Fraction = 0.5,
    ):
        super().__init__(
            model=model,
            encoder=encoder,
            pooling=pooling,
            pooled_layers=pooled_layers,
            dropout=dropout,
            units=len(targets["counts"]),
            name="multi_label_classification",
        )
        self.labels = targets["labels"]
        self.threshold = threshold
        self._label_weights = _weights(class_weights, **targets)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the weight of each label of each row, (B, C)."""
        negative, positive = (ops.convert_to_tensor(weights, "float32") for weights in self._label_weights)
        label_weights = ops.where(batch[LABEL_INDICATORS] > 0, positive, negative)
        return {CROSS_ENTROPY: ops.cast(batch[WEIGHTS], "float32")[:, None] * label_weights}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the sigmoid cross-entropy of each label of each row, (B, C)."""
        has = ops.cast(batch[LABEL_INDICATORS], "float32")
        logits = self.trained_logits(outputs)
        return {CROSS_ENTROPY: ops.mean(ops.softplus(logits) - has[:, None] * logits, axis=1)}

    def merge_logits(self, logits: Any) -> Any:
        """Compute the logits of the mean probabilities, (B, K, C) -> (B, C)."""
        likely, unlikely = (ops.logsumexp(ops.log_sigmoid(x), axis=1) for x in (logits, -logits))
        return likely - unlikely

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `scores` and `complements` (B, C) float32, and `is_label` (B, C) bool, the labels of the row."""
        scores, complements = ops.sigmoid(outputs[LOGITS]), ops.sigmoid(-outputs[LOGITS])
        labels = {"scores": scores, COMPLEMENTS: complements, IS_LABEL: scores >= self.threshold}
        return labels | self.explanations(outputs)

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average the scores, and choose the labels by the mean."""
        mean = average_predictions(predictions, exclude=[IS_LABEL])
        threshold = self.threshold if operating_point is None else operating_point.threshold
        return {**mean, IS_LABEL: mean["scores"] >= threshold}

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
        criterion: Criterion | None = None,
    ) -> OperatingPoint:
        """Choose one threshold for all labels: each label of each row counts as a row, so that "f1" is the micro F1."""
        return optimize(predictions["scores"].ravel(), targets[LABEL_INDICATORS].ravel() > 0, criterion)

    def calibrate(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        *,
        options: Calibration,
        split: str,
    ) -> Calibrator:
        """Fit one temperature of all scores: each label of each row counts as a row of the labels "no" and "yes"."""
        pairs = np.stack([predictions[COMPLEMENTS].ravel(), predictions["scores"].ravel()], axis=1)
        calibrator = fit_labels(options, pairs, targets[LABEL_INDICATORS].ravel(), labels=["no", "yes"], split=split)
        return dataclasses.replace(calibrator, rows=len(predictions["scores"]))

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the counts of LabelSetCounts."""
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")
        true = ops.cast(batch[LABEL_INDICATORS], "float32")
        given = ops.cast(self.predictions(outputs)[IS_LABEL], "float32")
        columns = {"true": true, "given": given, "right": true * given}
        return {
            **{name: ops.sum(values * counts[:, None], axis=0) for name, values in columns.items()},
            "exact": ops.sum(counts * ops.cast(ops.all(true == given, axis=1), "float32")),
            "rows": ops.sum(counts),
        }

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the metrics of LabelSetCounts."""
        return LabelSetCounts.summed(statistics).metrics()


def _weights(
    class_weights: str | dict[str, float] | None, *, labels: list[str] | None, counts: list[int], rows: int
) -> tuple[list[float], list[float]]:
    """Compute the loss weights of rows without and with each label: (C,) and (C,)."""
    if class_weights == "balanced":
        # As scikit-learn's "balanced", for each label alone. A configured label may have no rows.
        sides = ([rows - count for count in counts], counts)
        negative, positive = ([rows / (2 * max(count, 1)) for count in side] for side in sides)
        return negative, positive
    for label in class_weights or ():
        check_label(label, labels, key="class_weights", expected="some of")
    known = labels if labels is not None and class_weights else [""] * len(counts)
    return [1.0] * len(counts), [float((class_weights or {}).get(label, 1.0)) for label in known]
