"""Tabular classification: one label for a row of a table."""

from collections.abc import Sequence
from typing import Any, Literal

import keras
import numpy as np
from keras import ops
from pydantic import PositiveFloat

from tfattn.config.types import Fraction, Given
from tfattn.errors import ConfigError
from tfattn.features import COLUMN_ATTENTION, ENCODED, ESSENTIAL_FEATURES, LABEL_IDS, LOGITS, POOLED_OUTPUT
from tfattn.models.contracts import TableEncoder
from tfattn.tasks import classes
from tfattn.tasks.label_metrics import counts_of, roc_auc
from tfattn.tasks.operating_point import OperatingPoint, choose
from tfattn.tasks.task import Task

# What a model may say about how it came to its prediction.
EXPLANATIONS = (ESSENTIAL_FEATURES, COLUMN_ATTENTION)


class TabularClassification(Task):
    """Tells classes of rows apart by a linear map of the vector that a model makes of each row.

    Masks: none; a row has all its columns.

    Args:
        model: what reads the rows.
        num_classes: C, how many labels there are; known from the data.
        labels: the C labels in the order of their ids; known from the data, None until they are read.
        class_counts: training rows of each label, in the same order; known from the data.
        positive: the label that is looked for, which sensitivity, specificity and ROC AUC are about; of two labels the
            second in alphabetical order, if not given.
        class_weights: how much a row counts in the loss, by its label: "balanced" lets every label count the same in
            total, a table such as {noise: 2.0} gives the weight of some labels (others weigh 1).
        label_smoothing: the part of each target that is spread evenly over all labels.
        specificity: the least fraction of other rows that must not get the positive label, such as 1.0: the score from
            which on a row gets it is chosen by the validation rows, as low as that allows, and goes into the export.
            Without it the label with the best score is given.

    Call arguments:
        features: what the model reads.

    Returns:
        a dictionary of `logits` (B, C) float32, `encoded` (B, D) float32, what the head reads, and, where the model
        has them, `essential_features` (B, E) and `column_attention` (B, N + M), float32.

    Raises:
        ConfigError: positive or class_weights names a label that the data do not have, or there is no positive label
            for `specificity`.

    Example:
        >>> from tfattn.models.feature_map_transformer import FeatureMapTransformer
        >>> task = TabularClassification(model=FeatureMapTransformer(num_numeric=14, category_counts=[]), num_classes=2)
        >>> task.predictions(task({"numeric": keras.random.normal((1, 14))}))["scores"].shape
        TensorShape([1, 2])
    """

    loss_names = (classes.CROSS_ENTROPY,)
    monitor = "accuracy"
    monitor_mode = "max"
    learns_labels = True
    predicts_together = True

    def __init__(
        self,
        *,
        model: Given[TableEncoder],
        num_classes: Given[int],
        labels: Given[list[str] | None] = None,
        class_counts: Given[list[int] | None] = None,
        positive: str | None = None,
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        label_smoothing: Fraction = 0.0,
        specificity: Fraction | None = None,
    ):
        # Not cast to the compute type on entry: the model embeds numbers in float32.
        super().__init__(name="tabular_classification", autocast=False)
        self.model = model
        self.num_classes = num_classes
        self.labels = labels
        self.class_counts = class_counts
        self.positive = positive
        self.class_weights = class_weights
        self.label_smoothing = label_smoothing
        self.specificity = specificity
        self.weight_of_class = classes.weights_of_classes(
            class_weights, num_classes=num_classes, labels=labels, class_counts=class_counts
        )
        if positive is not None:
            classes.check_label(positive, labels, key="positive")
        if specificity is not None and not self._has_positive:
            raise ConfigError("there is no positive label to find", key="positive", expected="one of the labels")
        self.head = classes.head(num_classes, model.hidden_dim)
        self.built = True

    @property
    def positive_id(self) -> int | None:
        """The id of the positive label; None where there are more than two and none was chosen."""
        if self.positive is not None:
            return self.labels.index(self.positive)
        return 1 if self._has_positive else None

    @property
    def metric_names(self) -> tuple[str, ...]:
        of_positive = ("sensitivity", "specificity") if self._has_positive else ()
        fractions = [f"{name}{end}" for name in ("accuracy", *of_positive) for end in ("", "_low", "_high")]
        return (*fractions, "roc_auc") if of_positive else tuple(fractions)

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = self.model(features, training=training)
        encoded = ops.cast(outputs[POOLED_OUTPUT], "float32")
        explanations = {name: outputs[name] for name in EXPLANATIONS if name in outputs}
        return {LOGITS: self.head(encoded), ENCODED: encoded, **explanations}

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        return classes.loss_weights(batch, weight_of_class=self.weight_of_class)

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return classes.loss_terms(outputs, batch, label_smoothing=self.label_smoothing)

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """`scores` (B, C) float32, which sum to 1, `label_ids` (B,) int32, the best of each, and the explanations."""
        return classes.predictions(outputs) | {name: outputs[name] for name in EXPLANATIONS if name in outputs}

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        threshold = None if operating_point is None else operating_point.threshold
        return classes.combined(predictions, positive_id=self.positive_id, threshold=threshold)

    @property
    def has_operating_point(self) -> bool:
        return self.specificity is not None

    def choose_operating_point(
        self, predictions: dict[str, np.ndarray], targets: dict[str, np.ndarray]
    ) -> OperatingPoint:
        """Choose the lowest score that `specificity` allows; see `operating_point.choose`."""
        scores = predictions["scores"][:, self.positive_id]
        return choose(scores, targets[LABEL_IDS] == self.positive_id, specificity=self.specificity)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return classes.statistics(outputs, batch)

    def of_each_row(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """The score of the positive label, and whether it is the right one, (B,) each; nothing where none is."""
        if self.positive_id is None:
            return {}
        scores = classes.predictions(outputs)["scores"]
        return {"score": scores[:, self.positive_id], "is_positive": batch[LABEL_IDS] == self.positive_id}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """accuracy and, of the positive label where there is one, sensitivity, specificity and roc_auc.

        All but the last come with the 95 % interval `_low` to `_high`; see LabelCounts.
        """
        counts = counts_of(statistics)
        metrics = counts.metrics()
        if self.positive_id is not None:
            metrics |= counts.detection(self.positive_id) | {"roc_auc": roc_auc(rows["is_positive"], rows["score"])}
        return {name: metrics[name] for name in self.metric_names}

    @property
    def _has_positive(self) -> bool:
        return self.positive is not None or self.num_classes == 2

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.model.depth_groups(), self.head.trainable_variables]
