"""Text classification: one label for a text or a pair of texts."""

from collections.abc import Sequence
from typing import Any, Literal

import keras
import numpy as np
from keras import ops
from pydantic import PositiveFloat, PositiveInt

from tfattn.config.types import Fraction, Given, Rate
from tfattn.errors import ConfigError
from tfattn.features import ENCODED, HIDDEN_STATES, LOGITS, PADDING_MASK, POOLED_OUTPUT
from tfattn.layers.dropout import Dropout
from tfattn.models.contracts import Encoder
from tfattn.ops import pooling as pool
from tfattn.tasks import classes
from tfattn.tasks.label_metrics import counts_of
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.task import Task


class TextClassification(Task):
    """Pools an encoder's output into one vector and tells classes apart by a linear map of it.

    Masks: padding changes nothing, whatever the pooling.

    Args:
        model: the encoder that reads the texts.
        num_classes: C, how many labels there are; known from the data.
        labels: the C labels in the order of their ids; known from the data, None until they are read.
        class_counts: training rows of each label, in the same order; known from the data.
        encoder: "fine_tune" trains encoder and head; "frozen" computes the encoder's vectors once and trains the head.
        pooling: how a text becomes one vector: "mean" of its tokens, the vector of "cls", or BERT's "pooler" over it.
        pooled_layers: how many of the encoder's topmost layers give such a vector, "all" for each and the embeddings.
            Several are brought to mean 0 and variance 1, so that none outweighs the others, and stand side by side.
        dropout: the part of that vector that is dropped while training.
        class_weights: how much a row counts in the loss, by its label: "balanced" lets every label count the same in
            total, a table such as {Leak: 2.0} gives the weight of some labels (others weigh 1).
        label_smoothing: the part of each target that is spread evenly over all labels.

    Call arguments:
        features: what the encoder reads, or `encoded` (B, D), its vectors computed before.

    Returns:
        a dictionary of `logits` (B, C) float32 and `encoded` (B, D) float32, the pooled vectors.

    Raises:
        ConfigError: class_weights names a label that the data do not have, or pooled_layers are more than the encoder
            has or than the pooler reads.

    Example:
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = TextClassification(model=encoder, num_classes=3)
        >>> task.predictions(task({"token_ids": keras.ops.ones((1, 5), "int32")}))["scores"].shape
        TensorShape([1, 3])

    Source: Devlin et al. 2018, "BERT", section 4.1, and 5.3 of several layers; mean pooling as in Reimers and Gurevych
    2019, "Sentence-BERT".
    """

    metric_names = ("accuracy", "macro_precision", "macro_recall", "macro_f1")
    loss_names = (classes.CROSS_ENTROPY,)
    monitor = "accuracy"
    monitor_mode = "max"
    learns_labels = True
    predicts_together = True

    def __init__(
        self,
        *,
        model: Given[Encoder],
        num_classes: Given[int],
        labels: Given[list[str] | None] = None,
        class_counts: Given[list[int] | None] = None,
        encoder: Literal["fine_tune", "frozen"] = "fine_tune",
        pooling: Literal["mean", "cls", "pooler"] = "mean",
        pooled_layers: PositiveInt | Literal["all"] = 1,
        dropout: Rate = 0.1,
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        label_smoothing: Fraction = 0.0,
    ):
        # Not cast to the compute type on entry: vectors that were computed before are read as they were stored.
        super().__init__(name="text_classification", autocast=False)
        self.model = model
        self.num_classes = num_classes
        self.labels = labels
        self.class_counts = class_counts
        self.encoder = encoder
        self.pooling = pooling
        self.pooled_layers = pooled_layers
        _check_layers(pooled_layers, pooling, model.num_layers + 1)
        num_pooled = model.num_layers + 1 if pooled_layers == "all" else pooled_layers
        self.dropout = dropout
        self.class_weights = class_weights
        self.label_smoothing = label_smoothing
        self.encoder_is_frozen = encoder == "frozen"
        self.weight_of_class = classes.weights_of_classes(
            class_weights, num_classes=num_classes, labels=labels, class_counts=class_counts
        )

        model.trainable = not self.encoder_is_frozen
        model.pooler.trainable = pooling == "pooler" and not self.encoder_is_frozen
        self.head_dropout = Dropout(dropout, name="head_dropout", dtype="float32")
        width = model.hidden_dim * num_pooled
        self.head_dropout.build((None, width))
        self.head = classes.head(num_classes, width)
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        encoded = features[ENCODED] if ENCODED in features else self.encode(features, training=training)
        logits = self.head(self.head_dropout(encoded, training=training))
        return {LOGITS: logits, ENCODED: encoded}

    def encode(self, features: dict[str, Any], training: bool = False) -> Any:
        outputs = self.model(features, training=training and not self.encoder_is_frozen)
        if self.pooling == "pooler":
            return ops.cast(outputs[POOLED_OUTPUT], "float32")
        topmost = outputs[HIDDEN_STATES][0 if self.pooled_layers == "all" else -self.pooled_layers :]
        vectors = [self._pooled(x, features.get(PADDING_MASK)) for x in topmost]
        return vectors[0] if len(vectors) == 1 else ops.concatenate([_standardized(x) for x in vectors], axis=-1)

    def _pooled(self, x: Any, padding_mask: Any) -> Any:
        return ops.cast(pool.first(x), "float32") if self.pooling == "cls" else pool.mean(x, padding_mask)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        return classes.loss_weights(batch, weight_of_class=self.weight_of_class)

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return classes.loss_terms(outputs, batch, label_smoothing=self.label_smoothing)

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """`scores` (B, C) float32, which sum to 1, and `label_ids` (B,) int32, the best of each."""
        return classes.predictions(outputs)

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        return classes.combined(predictions)

    def gathered(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Give the mean of the scores of a text's windows, and the label with the best."""
        return classes.gathered(predictions, rows, num_rows)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return classes.statistics(outputs, batch)

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """accuracy, macro_precision, macro_recall and macro_f1; see LabelCounts."""
        metrics = counts_of(statistics).metrics()
        return {name: metrics[name] for name in self.metric_names}

    def depth_groups(self) -> list[list[keras.Variable]]:
        below = [] if self.encoder_is_frozen else self.model.depth_groups()
        return [*below, self.head.trainable_variables]


def _standardized(x: Any) -> Any:
    """Bring each vector to mean 0 and variance 1: (B, D) -> (B, D)."""
    centered = x - ops.mean(x, axis=-1, keepdims=True)
    return centered * ops.rsqrt(ops.mean(centered * centered, axis=-1, keepdims=True) + 1e-6)


def _check_layers(pooled: int | str, pooling: str, available: int) -> None:
    if pooling == "pooler" and pooled != 1:
        raise ConfigError("the pooler reads the topmost layer", key="pooled_layers", expected="1", received=str(pooled))
    if pooled != "all" and pooled > available:
        raise ConfigError(
            "the encoder has fewer layers",
            key="pooled_layers",
            expected=f"at most {available}, the embeddings included, or all",
            received=str(pooled),
        )
