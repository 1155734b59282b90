"""The right one of several texts: a score of each, and softmax over those of a row."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from tfattn.features import CHOICE_MASK, LABEL_IDS, LOGITS, WEIGHTS
from tfattn.ops.spans import NEVER
from tfattn.tasks.head import Head, mean_of
from tfattn.tasks.operating_point import OperatingPoint

CROSS_ENTROPY = "cross_entropy"  # the one term of the loss


class ChoiceHead(Head):
    """Predicts which of the texts of each row is the right one.

    Masks: a text that `choice_mask` says is not there gets a probability of 0.

    Args:
        width: D, of the vectors (B, N, D) that it reads.

    Source: Devlin et al. 2018, "BERT", section 4.4.
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = ("accuracy",)
    monitor = "accuracy"
    monitor_mode = "max"

    def __init__(self, *, width: int):
        super().__init__(width=width, units=1)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """1 for each row, (B,)."""
        return {CROSS_ENTROPY: ops.cast(batch[WEIGHTS], "float32")}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Cross-entropy over the texts of each row, (B,)."""
        label_ids = ops.cast(batch[LABEL_IDS], "int32")[:, None]
        log_scores = ops.log_softmax(_of_texts(outputs), axis=-1)
        return {CROSS_ENTROPY: -ops.take_along_axis(log_scores, label_ids, axis=1)[:, 0]}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """`scores` (B, N) float32, which sum to 1, and `label_ids` (B,) int32, the best of each."""
        scores = ops.softmax(_of_texts(outputs), axis=-1)
        return {"scores": scores, LABEL_IDS: _best(scores)}

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average all scores, and choose by that."""
        together = mean_of(predictions, but=[LABEL_IDS])
        return {**together, LABEL_IDS: _best(together["scores"])}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count the rows, and those whose best text is the right one."""
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")
        is_right = ops.cast(_best(_of_texts(outputs)) == ops.cast(batch[LABEL_IDS], "int32"), "float32")
        return {"right": ops.sum(is_right * counts), "rows": ops.sum(counts)}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        return {"accuracy": float(statistics["right"] / max(statistics["rows"], 1))}


def _of_texts(outputs: dict[str, Any]) -> Any:
    """Return the logits of the texts of each row, (B, N), lowest where there is none."""
    return ops.where(outputs[CHOICE_MASK], outputs[LOGITS][:, :, 0], NEVER)


def _best(scores: Any) -> Any:
    return ops.cast(ops.argmax(scores, axis=-1), "int32")
