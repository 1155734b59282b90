"""Classification: one label for a text, a pair of texts, a row of a table or an image."""

import difflib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from keras import ops
from pydantic import PositiveFloat, PositiveInt

from tfattn.config.types import Fraction, Given, Rate
from tfattn.errors import ConfigError
from tfattn.features import LABEL_IDS, LOGITS, MIXED_LABEL_IDS, MIXED_SHARES, WEIGHTS
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.tasks.label_metrics import counts_of, roc_auc
from tfattn.tasks.operating_point import OperatingPoint, choose
from tfattn.tasks.row_task import RowEncoder, RowTask, backbone_of, mean_of

CROSS_ENTROPY = "cross_entropy"  # the one term of the loss
TOP = 5  # labels: of images of more classes, top-5 accuracy is measured too


class Classification(RowTask):
    """Predicts one label for each row by a linear map of the vector that a model makes of the row.

    Args:
        model: reads the rows: an encoder of texts, of rows of tables or of images.
        targets: known from the data: the C `labels` in the order of their ids, None until they are read, and `counts`,
            the training rows of each.
        encoder: "fine_tune" trains encoder and head; "frozen" computes the vectors of a text encoder once and trains
            the head.
        pooling: how a text becomes one vector: "mean" of its tokens, the vector of "cls", or BERT's "pooler" over it;
            by default the mean.
        pooled_layers: the number of the topmost layers of a text encoder that are pooled, "all" for each and the
            embeddings; by default 1.
        dropout: the fraction of the vector that is dropped in training; by default 0.1 for texts and 0 for others.
        class_weights: the weight of a row in the loss, by its label: "balanced" gives every label the same total
            weight, a table such as {Leak: 2.0} gives the weight of some labels (others have 1).
        label_smoothing: the fraction of each target that is spread evenly over all labels.
        positive: the label that sensitivity, specificity and ROC AUC are about; of two labels of a table the second in
            alphabetical order by default.
        specificity: the smallest fraction of other rows that must not get the positive label, such as 1.0. The
            threshold of the positive label is then chosen on the validation rows, as low as that allows, and becomes
            part of the export. Without it the label with the highest score is predicted.

    Returns:
        as RowTask; `predictions` has `scores` (B, C) float32, which sum to 1, and `label_ids` (B,) int32.

    Raises:
        ConfigError: positive or class_weights names a label that the data do not have, there is no positive label for
            `specificity`, or an option of texts is given for another model.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = Classification(model=encoder, targets={"labels": ["a", "b", "c"], "counts": [5, 3, 2]})
        >>> task.predictions(task({"token_ids": keras.ops.ones((1, 5), "int32")}))["scores"].shape
        TensorShape([1, 3])

    Source: label smoothing: Szegedy et al. 2016, "Rethinking the inception architecture", section 7.
    """

    loss_names = (CROSS_ENTROPY,)
    monitor = "accuracy"
    monitor_mode = "max"

    def __init__(
        self,
        *,
        model: Given[RowEncoder],
        targets: Given[dict[str, Any]],
        encoder: Literal["fine_tune", "frozen"] = "fine_tune",
        pooling: Literal["mean", "cls", "pooler"] | None = None,
        pooled_layers: PositiveInt | Literal["all"] | None = None,
        dropout: Rate | None = None,
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        label_smoothing: Fraction = 0.0,
        positive: str | None = None,
        specificity: Fraction | None = None,
    ):
        backbone = backbone_of(model, encoder=encoder, pooling=pooling, pooled_layers=pooled_layers, dropout=dropout)
        super().__init__(backbone, units=len(targets["counts"]), name="classification")
        self.labels = targets["labels"]
        self.num_labels = len(targets["counts"])
        self.positive_id = _positive_id(positive, targets, is_table=isinstance(model, TableEncoder))
        self.label_smoothing = label_smoothing
        self.specificity = specificity
        self.top = TOP if isinstance(model, ImageEncoder) and self.num_labels > TOP else None
        self.has_operating_point = specificity is not None
        self.weight_of_class = weights_of_classes(class_weights, **targets)
        if specificity is not None and self.positive_id is None:
            raise ConfigError("there is no positive label to find", key="positive", expected="one of the labels")

    @property
    def metric_names(self) -> tuple[str, ...]:
        if self.positive_id is None:
            of_top = (f"top_{self.top}_accuracy",) if self.top else ()
            return ("accuracy", *of_top, "macro_precision", "macro_recall", "macro_f1", "matthews_correlation")
        of_positive = [f"{name}{end}" for name in ("sensitivity", "specificity") for end in ("", "_low", "_high")]
        return ("accuracy", "accuracy_low", "accuracy_high", *of_positive, "roc_auc")

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """(B,), by the label of each row."""
        weights = ops.cast(batch[WEIGHTS], "float32")
        if self.weight_of_class is not None:
            weights = weights * ops.take(ops.convert_to_tensor(self.weight_of_class, "float32"), batch[LABEL_IDS])
        return {CROSS_ENTROPY: weights}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Cross-entropy of each row, (B,); of mixed ones that of both labels, by their shares."""
        targets = ops.one_hot(batch[LABEL_IDS], self.num_labels, dtype="float32")
        if MIXED_LABEL_IDS in batch:
            others = ops.one_hot(batch[MIXED_LABEL_IDS], self.num_labels, dtype="float32")
            targets = targets + batch[MIXED_SHARES][:, None] * (others - targets)
        targets = targets * (1.0 - self.label_smoothing) + self.label_smoothing / self.num_labels
        return {CROSS_ENTROPY: -ops.sum(targets * ops.log_softmax(outputs[LOGITS], axis=-1), axis=-1)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `scores` (B, C) float32, which sum to 1, and `label_ids` (B,) int32, the most likely labels."""
        scores = ops.softmax(outputs[LOGITS], axis=-1)
        label_ids = ops.cast(ops.argmax(scores, axis=-1), "int32")
        return {"scores": scores, LABEL_IDS: label_ids, **self.explanations(outputs)}

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average all, and choose the label by that; at an operating point its threshold decides that."""
        together = mean_of(predictions, but=[LABEL_IDS])
        scores = together["scores"]
        if operating_point is None:
            label_ids = ops.argmax(scores, axis=-1)
        else:
            is_positive = ops.one_hot(self.positive_id, scores.shape[-1], dtype="float32")
            others = ops.argmax(scores - 2.0 * is_positive, axis=-1)
            reaches = ops.sum(scores * is_positive, axis=-1) >= operating_point.threshold
            label_ids = ops.where(reaches, self.positive_id, others)
        return {**together, LABEL_IDS: ops.cast(label_ids, "int32")}

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
    ) -> OperatingPoint:
        """Choose the lowest score that `specificity` allows; see `operating_point.choose`."""
        scores = predictions["scores"][:, self.positive_id]
        return choose(scores, targets[LABEL_IDS] == self.positive_id, specificity=self.specificity)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """How often each label was the right one (`true`), was given (`given`) and both (`right`): (C,) each.

        And how often the right one was among the `top` (`found`): (); where that is asked for.
        """
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")[:, None]
        true = ops.one_hot(batch[LABEL_IDS], self.num_labels, dtype="float32") * counts
        given = ops.one_hot(self.predictions(outputs)[LABEL_IDS], self.num_labels, dtype="float32") * counts
        sums = {"true": ops.sum(true, axis=0), "given": ops.sum(given, axis=0), "right": ops.sum(true * given, axis=0)}
        if self.top:
            is_found = ops.in_top_k(batch[LABEL_IDS], outputs[LOGITS], self.top)
            sums["found"] = ops.sum(ops.cast(is_found, "float32") * counts[:, 0])
        return sums

    def of_each_row(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return the score of the positive label, and whether it is the right one, (B,) each; nothing where none is."""
        if self.positive_id is None:
            return {}
        scores = self.predictions(outputs)["scores"]
        return {"score": scores[:, self.positive_id], "is_positive": batch[LABEL_IDS] == self.positive_id}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Accuracy with what measures all labels or, of a positive label, sensitivity, specificity and roc_auc.

        Accuracy, sensitivity and specificity come with the 95 % interval `_low` to `_high`; see LabelCounts.
        """
        counts = counts_of(statistics)
        metrics = counts.metrics()
        if self.top:
            metrics[f"top_{self.top}_accuracy"] = float(statistics["found"] / max(statistics["true"].sum(), 1.0))
        if self.positive_id is not None:
            metrics |= counts.detection(self.positive_id) | {"roc_auc": roc_auc(rows["is_positive"], rows["score"])}
        return {name: metrics[name] for name in self.metric_names}


def weights_of_classes(
    class_weights: str | dict[str, float] | None, *, labels: list[str] | None, counts: list[int]
) -> list[float] | None:
    """How much a row of each label counts in the loss, or None where all count the same.

    Args:
        class_weights: as of Classification.
        labels: the C labels in the order of their ids; None where they are not known yet, and all weigh the same.
        counts: training rows of each label, in the same order.

    Raises:
        ConfigError: the table names a label that the data do not have.
    """
    if class_weights is None:
        return None
    if class_weights == "balanced":
        # As scikit-learn's "balanced": rows / (classes * rows of the class). A label that was listed may have no rows.
        return [sum(counts) / (len(counts) * max(count, 1)) for count in counts]
    for label in class_weights:
        check_label(label, labels, key="class_weights", expected="some of")
    return None if labels is None else [float(class_weights.get(label, 1.0)) for label in labels]


def _positive_id(positive: str | None, targets: dict[str, Any], *, is_table: bool) -> int | None:
    if positive is None:
        return 1 if is_table and len(targets["counts"]) == 2 else None
    check_label(positive, targets["labels"], key="positive")
    return 0 if targets["labels"] is None else targets["labels"].index(positive)


def check_label(label: str, labels: list[str] | None, *, key: str, expected: str = "one of") -> None:
    """Refuse a label that the data do not have, if it is known which they have.

    Raises:
        ConfigError: `key` names it; suggests the nearest.
    """
    if labels is not None and label not in labels:
        spelled = {name.lower(): name for name in labels}
        near = difflib.get_close_matches(label.lower(), spelled, n=1)
        raise ConfigError(
            "the data have no such label",
            key=key,
            expected=f"{expected} {', '.join(labels)}",
            received=repr(label),
            remedy=f"Did you mean `{spelled[near[0]]}`?" if near else "",
        )
