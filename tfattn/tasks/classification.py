"""Classification: one label for a text, a pair of texts, a row of a table or an image."""

import difflib
import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from keras import ops
from pydantic import NonNegativeFloat, PositiveFloat

from tfattn.config.types import Fraction, Given, Rate
from tfattn.errors import ConfigError
from tfattn.features import LABEL_IDS, LOGITS, MIXED_LABEL_IDS, MIXED_SHARES, WEIGHTS
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.ops.attention_record import AttentionRecord
from tfattn.tasks.calibration import Calibration, Calibrator, fit_labels
from tfattn.tasks.label_metrics import counts_of, roc_auc
from tfattn.tasks.operating_point import Criterion, OperatingPoint, choose, optimize
from tfattn.tasks.row_task import PooledLayers, Pooling, RowEncoder, RowTask, Training, average_predictions

CROSS_ENTROPY = "cross_entropy"
CONSISTENCY = "consistency"  # the loss term of R-Drop
OTHER_LOGITS = "other_logits"  # (B, K, C), of the second pass of R-Drop
TOP = 5  # top-5 accuracy is measured for images with more than 5 classes


class Classification(RowTask):
    """A linear classifier on top of an encoder, with one label for each row.

    The arguments of the backbone are explained in RowTask.

    Args:
        targets: known from the data: the C `labels` in the order of their ids, None until they are read, and `counts`,
            the training rows of each.
        class_weights: the weight of a row in the loss, by its label: "balanced" gives every label the same total
            weight, a table such as {Leak: 2.0} gives the weight of some labels (others have 1).
        label_smoothing: the fraction of each target that is spread evenly over all labels.
        r_drop: the weight of R-Drop: each training row is read twice with different dropout, which doubles the time of
            training, and the divergence of the two predictions is a part of the loss. 0 reads each row once.
        positive: the label that sensitivity, specificity and ROC AUC are about; of two labels of a table the second in
            alphabetical order by default.
        specificity: the smallest fraction of other rows that must not get the positive label, such as 1.0. The
            threshold of the positive label is then chosen on the calibration rows (without any on the validation
            rows), as low as that allows, and becomes part of the export. Without it the label with the highest score is
            predicted.

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

    Source: label smoothing: Szegedy et al. 2016, "Rethinking the inception architecture", section 7; R-Drop: Liang et
    al. 2021, "R-Drop: regularized dropout for neural networks", eq. 4, with alpha; the loss is half of theirs.
    """

    calibratable = ("temperature", "threshold", "coverage", "by_class")
    monitor = "accuracy"
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
        label_smoothing: Fraction = 0.0,
        r_drop: NonNegativeFloat = 0.0,
        positive: str | None = None,
        specificity: Fraction | None = None,
    ):
        super().__init__(
            model=model,
            encoder=encoder,
            pooling=pooling,
            pooled_layers=pooled_layers,
            dropout=dropout,
            units=len(targets["counts"]),
            name="classification",
        )
        self.labels = targets["labels"]
        self.num_labels = len(targets["counts"])
        self.positive_id = _positive_id(positive, targets, is_table=isinstance(model, TableEncoder))
        self.label_smoothing = label_smoothing
        self.r_drop = r_drop
        self.specificity = specificity
        self.top = TOP if isinstance(model, ImageEncoder) and self.num_labels > TOP else None
        self.has_operating_point = specificity is not None
        self.weight_of_class = weights_of_classes(class_weights, **targets)
        if specificity is not None and self.positive_id is None:
            raise ConfigError("there is no positive label to find", key="positive", expected="one of the labels")

    @property
    def loss_names(self) -> tuple[str, ...]:
        return (CROSS_ENTROPY, CONSISTENCY) if self.r_drop else (CROSS_ENTROPY,)

    @property
    def metric_names(self) -> tuple[str, ...]:
        if self.positive_id is None:
            top_accuracy = (f"top_{self.top}_accuracy",) if self.top else ()
            return ("accuracy", *top_accuracy, "macro_precision", "macro_recall", "macro_f1", "matthews_correlation")
        detection = [f"{name}{end}" for name in ("sensitivity", "specificity") for end in ("", "_low", "_high")]
        return ("accuracy", "accuracy_low", "accuracy_high", *detection, "roc_auc")

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the weight of each row by its label, (B,)."""
        weights = ops.cast(batch[WEIGHTS], "float32")
        if self.weight_of_class is not None:
            weights = weights * ops.take(ops.convert_to_tensor(self.weight_of_class, "float32"), batch[LABEL_IDS])
        return dict.fromkeys(self.loss_names, weights)

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        outputs = super().call(features, training=training, record=record)
        if training and self.r_drop:
            outputs[OTHER_LOGITS] = self.trained_logits(super().call(features, training=True))
        return outputs

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the cross-entropy of each row, (B,); mixed rows have both labels, weighted by their shares."""
        targets = ops.one_hot(batch[LABEL_IDS], self.num_labels, dtype="float32")
        if MIXED_LABEL_IDS in batch:
            others = ops.one_hot(batch[MIXED_LABEL_IDS], self.num_labels, dtype="float32")
            targets = targets + batch[MIXED_SHARES][:, None] * (others - targets)
        targets = targets * (1.0 - self.label_smoothing) + self.label_smoothing / self.num_labels
        passes = [self.trained_logits(outputs), *([outputs[OTHER_LOGITS]] if OTHER_LOGITS in outputs else [])]
        logarithms = [ops.log_softmax(logits, axis=-1) for logits in passes]
        losses = [-ops.mean(ops.sum(targets[:, None] * logarithm, axis=-1), axis=1) for logarithm in logarithms]
        terms = {CROSS_ENTROPY: sum(losses) / len(losses)}
        if self.r_drop:
            # KL(p, q) + KL(q, p) is the sum of (p - q) (log p - log q); it is 0 for a single pass, in validation.
            p, q = logarithms[0], logarithms[-1]
            divergence = ops.sum((ops.exp(p) - ops.exp(q)) * (p - q), axis=-1)
            terms[CONSISTENCY] = self.r_drop / 4 * ops.mean(divergence, axis=1)
        return terms

    def merge_logits(self, logits: Any) -> Any:
        """Compute the logarithm of the mean probabilities, (B, K, C) -> (B, C)."""
        return ops.logsumexp(ops.log_softmax(logits, axis=-1), axis=1) - math.log(logits.shape[1])

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `scores` (B, C) float32, which sum to 1, and `label_ids` (B,) int32, the most likely labels."""
        scores = ops.softmax(outputs[LOGITS], axis=-1)
        label_ids = ops.cast(ops.argmax(scores, axis=-1), "int32")
        return {"scores": scores, LABEL_IDS: label_ids, **self.explanations(outputs)}

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average the predictions, and choose the label with the highest mean score.

        At an operating point the positive label is chosen where its score reaches the threshold.
        """
        mean = average_predictions(predictions, exclude=[LABEL_IDS])
        scores = mean["scores"]
        if operating_point is None:
            label_ids = ops.argmax(scores, axis=-1)
        else:
            is_positive = ops.one_hot(self.positive_id, scores.shape[-1], dtype="float32")
            others = ops.argmax(scores - 2.0 * is_positive, axis=-1)
            reaches = ops.sum(scores * is_positive, axis=-1) >= operating_point.threshold
            label_ids = ops.where(reaches, self.positive_id, others)
        return {**mean, LABEL_IDS: ops.cast(label_ids, "int32")}

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
        criterion: Criterion | None = None,
    ) -> OperatingPoint:
        """Choose the lowest score that `specificity` allows, or the best by a criterion; see `operating_point`."""
        scores, positive = predictions["scores"][:, self.positive_id], targets[LABEL_IDS] == self.positive_id
        if criterion is not None:
            return optimize(scores, positive, criterion)
        return choose(scores, positive, specificity=self.specificity)

    def calibrate(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        *,
        options: Calibration,
        split: str,
    ) -> Calibrator:
        """Fit the temperature of the scores, and the thresholds of prediction sets."""
        return fit_labels(options, predictions["scores"], targets[LABEL_IDS], labels=self.labels, split=split)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count the rows of each label (`true`), predicted as it (`given`), and both (`right`): (C,) each.

        For top-5 accuracy also count the rows whose label is among the `top` predictions (`found`): ().
        """
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")[:, None]
        true = ops.one_hot(batch[LABEL_IDS], self.num_labels, dtype="float32") * counts
        given = ops.one_hot(self.predictions(outputs)[LABEL_IDS], self.num_labels, dtype="float32") * counts
        sums = {"true": ops.sum(true, axis=0), "given": ops.sum(given, axis=0), "right": ops.sum(true * given, axis=0)}
        if self.top:
            is_found = ops.in_top_k(batch[LABEL_IDS], outputs[LOGITS], self.top)
            sums["found"] = ops.sum(ops.cast(is_found, "float32") * counts[:, 0])
        return sums

    def per_example(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return the score and the truth of the positive label, (B,) each; nothing without a positive label."""
        if self.positive_id is None:
            return {}
        scores = self.predictions(outputs)["scores"]
        return {"score": scores[:, self.positive_id], "is_positive": batch[LABEL_IDS] == self.positive_id}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute accuracy, and macro metrics or, with a positive label, sensitivity, specificity and roc_auc.

        Accuracy, sensitivity and specificity have a 95 % interval, `_low` to `_high`; see LabelCounts.
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
    """Compute the loss weight of each label, or None where all labels have the same weight.

    Args:
        class_weights: the argument of Classification.
        labels: the C labels in the order of their ids; None before they are read.
        counts: the number of training rows of each label, in the same order.

    Raises:
        ConfigError: the table names a label that the data do not have.
    """
    if class_weights is None:
        return None
    if class_weights == "balanced":
        # As scikit-learn's "balanced": rows / (classes * rows of the class). A configured label may have no rows.
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
    """Check that a label is in the data, once the labels are known.

    Raises:
        ConfigError: the data do not have the label; the message suggests the nearest label.
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
