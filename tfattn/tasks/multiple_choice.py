"""Multiple choice: which of several texts fits a context."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from tfattn.config.types import Given, Rate
from tfattn.features import (
    CHOICE_MASK,
    ENCODED,
    LABEL_IDS,
    LOGITS,
    PADDING_MASK,
    SEGMENT_IDS,
    TOKEN_IDS,
    WEIGHTS,
)
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops.spans import NEVER
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.row_task import TEXT_DROPOUT, PooledLayers, Pooling, RowTask, Training, average_predictions
from tfattn.tasks.text_backbone import TextBackbone

CROSS_ENTROPY = "cross_entropy"  # the only loss term


class MultipleChoice(RowTask):
    """A linear scorer of each choice with its context, with a softmax over the choices of a row.

    Masks: a choice that `choice_mask` excludes gets a probability of 0.

    Args:
        model: the encoder that reads a context with a choice.
        encoder: "fine_tune" trains encoder and head, "frozen" the head alone.
        pooling: how a text is pooled into a vector: the "mean" or "max" over its tokens, the "cls" vector, or BERT's
            "pooler".
        pooled_layers: the number of the encoder's top layers that are pooled, "all" for all layers and the embeddings.
        dropout: the fraction of the vector that is dropped in training.

    Call arguments:
        features: `token_ids`, `segment_ids` and `padding_mask`, (B, N, T) each; a choice without tokens is padding.

    Returns:
        a dictionary of `logits` (B, N, 1) float32, `encoded` (B, N, D) float32 and `choice_mask` (B, N) bool;
        `predictions` has `scores` (B, N) float32, which sum to 1, and `label_ids` (B,) int32.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = MultipleChoice(model=encoder)
        >>> task.predictions(task({"token_ids": keras.ops.ones((1, 4, 5), "int32")}))["scores"].shape
        TensorShape([1, 4])

    Source: Devlin et al. 2018, "BERT", section 4.4.
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = ("accuracy",)
    monitor = "accuracy"
    monitor_mode = "max"

    def __init__(
        self,
        *,
        model: Given[Encoder],
        encoder: Training = "fine_tune",
        pooling: Pooling = "mean",
        pooled_layers: PooledLayers = 1,
        dropout: Rate = TEXT_DROPOUT,
    ):
        super().__init__(
            model=model,
            encoder=encoder,
            pooling=pooling,
            pooled_layers=pooled_layers,
            dropout=dropout,
            units=1,
            name="multiple_choice",
        )
        self.encoder_is_frozen = False  # the cache holds one vector for each row, not for each choice

    def make_backbone(self, model: Encoder, **options: Any) -> "ChoicesBackbone":
        return ChoicesBackbone(model, **options)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each row, (B,)."""
        return {CROSS_ENTROPY: ops.cast(batch[WEIGHTS], "float32")}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the cross-entropy over the choices of each row, (B,)."""
        label_ids = ops.cast(batch[LABEL_IDS], "int32")[:, None]
        log_scores = ops.log_softmax(_choice_logits(outputs), axis=-1)
        return {CROSS_ENTROPY: -ops.take_along_axis(log_scores, label_ids, axis=1)[:, 0]}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `scores` (B, N) float32, which sum to 1, and `label_ids` (B,) int32, the most likely choices."""
        scores = ops.softmax(_choice_logits(outputs), axis=-1)
        return {"scores": scores, LABEL_IDS: _best(scores)}

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average the scores, and choose by the mean."""
        mean = average_predictions(predictions, exclude=[LABEL_IDS])
        return {**mean, LABEL_IDS: _best(mean["scores"])}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count the rows, and the rows whose most likely choice is right."""
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")
        is_right = ops.cast(_best(_choice_logits(outputs)) == ops.cast(batch[LABEL_IDS], "int32"), "float32")
        return {"right": ops.sum(is_right * counts), "rows": ops.sum(counts)}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        return {"accuracy": float(statistics["right"] / max(statistics["rows"], 1))}


class ChoicesBackbone(TextBackbone):
    """A text backbone for several texts in each row, which the encoder reads independently.

    `encode` returns `encoded` (B, N, D) float32 and `choice_mask` (B, N) bool, True for texts with tokens.

    Args: as TextBackbone.
    """

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        tokens = {name: features[name] for name in (TOKEN_IDS, SEGMENT_IDS, PADDING_MASK) if name in features}
        rows, texts, length = ops.shape(tokens[TOKEN_IDS])
        mask = tokens.get(PADDING_MASK, ops.ones((rows, texts, length), dtype="bool"))
        flat = {name: ops.reshape(x, (rows * texts, length)) for name, x in tokens.items()}
        encoded = super().encode(flat, training=training)[ENCODED]
        return {
            ENCODED: ops.reshape(encoded, (rows, texts, self.width)),
            CHOICE_MASK: ops.any(ops.cast(mask, "bool"), axis=-1),
        }


def _choice_logits(outputs: dict[str, Any]) -> Any:
    """Return the logits of the choices of each row, (B, N), masked where there is no choice."""
    return ops.where(outputs[CHOICE_MASK], outputs[LOGITS][:, :, 0], NEVER)


def _best(scores: Any) -> Any:
    return ops.cast(ops.argmax(scores, axis=-1), "int32")
