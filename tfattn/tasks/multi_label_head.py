"""Any number of C labels for each row: sigmoid cross-entropy of each label, and a threshold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from tfattn.features import IS_LABEL, LABEL_INDICATORS, LOGITS, WEIGHTS
from tfattn.tasks.head import Head, mean_of
from tfattn.tasks.label_metrics import LabelSetCounts
from tfattn.tasks.multi_class_head import check_label
from tfattn.tasks.operating_point import OperatingPoint

CROSS_ENTROPY = "cross_entropy"  # the one term of the loss


class MultiLabelHead(Head):
    """Predicts for each row which of C labels it has.

    Args:
        width: D, of the vectors that it reads.
        targets: the C `labels` in the order of their ids, None until they are read, `counts`, the training rows that
            have each, and all `rows`.
        class_weights: how much a row that has a label counts for it in the loss: "balanced" lets, of each label, the
            rows that have it count the same in total as those that do not, a table gives the weight of some labels
            (others weigh 1), None changes nothing.
        threshold: the score from which on a row gets a label.

    Raises:
        ConfigError: class_weights names a label that the data do not have.
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = (
        *("subset_accuracy", "subset_accuracy_low", "subset_accuracy_high", "hamming_loss"),
        *("micro_precision", "micro_recall", "micro_f1", "macro_precision", "macro_recall", "macro_f1"),
    )
    monitor = "micro_f1"
    monitor_mode = "max"

    def __init__(
        self,
        *,
        width: int,
        targets: dict[str, Any],
        class_weights: str | dict[str, float] | None,
        threshold: float,
    ):
        super().__init__(width=width, units=len(targets["counts"]))
        self.labels = targets["labels"]
        self.threshold = threshold
        self._weights = _weights(class_weights, **targets)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """(B, C), by whether a row has a label."""
        without, having = (ops.convert_to_tensor(weights, "float32") for weights in self._weights)
        of_label = ops.where(batch[LABEL_INDICATORS] > 0, having, without)
        return {CROSS_ENTROPY: ops.cast(batch[WEIGHTS], "float32")[:, None] * of_label}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Sigmoid cross-entropy of each label of each row, (B, C)."""
        has = ops.cast(batch[LABEL_INDICATORS], "float32")
        return {CROSS_ENTROPY: ops.softplus(outputs[LOGITS]) - has * outputs[LOGITS]}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """`scores` (B, C) float32, each between 0 and 1, and `is_label` (B, C) bool, which reach the threshold."""
        scores = ops.sigmoid(outputs[LOGITS])
        return {"scores": scores, IS_LABEL: scores >= self.threshold}

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average all scores, and choose the labels by that."""
        together = mean_of(predictions, but=[IS_LABEL])
        return {**together, IS_LABEL: together["scores"] >= self.threshold}

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
    """How much rows without each label count for it, and rows that have it: (C,) and (C,)."""
    if class_weights == "balanced":
        # As scikit-learn's "balanced", of each label alone. One that was listed may have no rows.
        kinds = ([rows - count for count in counts], counts)
        without, having = ([rows / (2 * max(count, 1)) for count in kind] for kind in kinds)
        return without, having
    for label in class_weights or ():
        check_label(label, labels, key="class_weights", expected="some of")
    known = labels if labels is not None and class_weights else [""] * len(counts)
    return [1.0] * len(counts), [float((class_weights or {}).get(label, 1.0)) for label in known]
