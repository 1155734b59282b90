"""Ranking: which documents answer a query (a cross-encoder)."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from keras import ops

from tfattn.config.types import Given, Rate
from tfattn.features import CHOICE_MASK, GRADE_MASK, GRADES, LOGITS, WEIGHTS
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops.ranking import AT, ranking_metrics
from tfattn.ops.spans import NEVER
from tfattn.tasks.multiple_choice import ChoicesBackbone
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.row_task import TEXT_DROPOUT, PooledLayers, Pooling, RowTask, Training, average_predictions

Loss = Literal["listwise", "pointwise"]


class Ranking(RowTask):
    """A linear scorer of each document with its query: a cross-encoder, or reranker.

    A row is a query with a list of documents, so the loss of a list does not depend on the batch.

    Masks: a document that `choice_mask` excludes gets a score of 0.

    Args:
        model: the encoder that reads a query with a document.
        targets: known from the data: `highest`, the highest grade of training rows.
        loss: "listwise" is the cross-entropy between the grades of a list, divided by their sum, and the softmax of the
            scores; lists with a single document, or without a relevant document, do not count. "pointwise" is the
            binary cross-entropy of each document, whose target is its grade divided by the highest grade.
        encoder: "fine_tune" trains encoder and head, "frozen" the head alone.
        pooling: how a text is pooled into a vector: the "mean" or "max" over its tokens, the "cls" vector, or BERT's
            "pooler".
        pooled_layers: the number of the encoder's top layers that are pooled, "all" for all layers and the embeddings.
        dropout: the fraction of the vector that is dropped in training.

    Call arguments:
        features: `token_ids`, `segment_ids` and `padding_mask`, (B, N, T) each; a document without tokens is padding.

    Returns:
        a dictionary of `logits` (B, N, 1) float32, `encoded` (B, N, D) float32 and `choice_mask` (B, N) bool;
        `predictions` has `scores` (B, N) float32, the sigmoid of the logits. Scores of the pointwise loss are estimates
        of the relevance; those of the listwise loss only order the documents of a query.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = Ranking(model=encoder, targets={"highest": 1.0})
        >>> task.predictions(task({"token_ids": keras.ops.ones((1, 4, 5), "int32")}))["scores"].shape
        TensorShape([1, 4])

    Sources: Cao et al. 2007, "Learning to rank: from pairwise approach to listwise approach" (ListNet), with the
    targets of Bruch et al. 2019, "An analysis of the softmax cross entropy loss for learning-to-rank with binary
    relevance"; Nogueira and Cho 2019, "Passage re-ranking with BERT", for the pointwise loss.
    """

    metric_names = (f"ndcg_at_{AT}", f"mrr_at_{AT}", f"recall_at_{AT}")
    monitor = f"ndcg_at_{AT}"
    monitor_mode = "max"

    def __init__(
        self,
        *,
        model: Given[Encoder],
        targets: Given[dict[str, Any]],
        loss: Loss = "listwise",
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
            name="ranking",
        )
        self.encoder_is_frozen = False  # the cache holds one vector for each row, not for each document
        self.highest: float = targets["highest"]
        self.loss_names = (loss,)

    def make_backbone(self, model: Encoder, **options: Any) -> ChoicesBackbone:
        return ChoicesBackbone(model, **options)

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each list that counts, (B,), or for each document, (B, N)."""
        [loss] = self.loss_names
        weights, mask = ops.cast(batch[WEIGHTS], "float32"), ops.cast(batch[GRADE_MASK], "float32")
        if loss == "pointwise":
            return {loss: weights[:, None] * mask}
        counts = (ops.sum(batch[GRADES] * mask, axis=1) > 0) & (ops.sum(mask, axis=1) > 1)
        return {loss: weights * ops.cast(counts, "float32")}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the cross-entropy of each list, (B,), or of each document, (B, N)."""
        [loss] = self.loss_names
        mask = ops.cast(batch[GRADE_MASK], "bool")
        grades = ops.where(mask, batch[GRADES], 0.0)
        logits = outputs[LOGITS][:, :, 0]
        if loss == "pointwise":
            targets = grades / self.highest
            return {loss: ops.softplus(logits) - targets * logits}
        total = ops.sum(grades, axis=1, keepdims=True)
        log_scores = ops.log_softmax(ops.where(mask, logits, NEVER), axis=-1)
        return {loss: -ops.sum(grades / ops.where(total > 0, total, 1.0) * ops.where(mask, log_scores, 0.0), axis=1)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `scores` (B, N) float32, between 0 and 1."""
        return {"scores": ops.where(outputs[CHOICE_MASK], ops.sigmoid(outputs[LOGITS][:, :, 0]), 0.0)}

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average the scores."""
        return average_predictions(predictions)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Sum the metrics of lists with a relevant document, and count these lists."""
        mask = ops.cast(batch[GRADE_MASK], "bool")
        grades = ops.where(mask, batch[GRADES], 0.0)
        has_relevant = ops.cast((batch[WEIGHTS] > 0) & (ops.max(grades, axis=1) > 0), "float32")
        metrics = ranking_metrics(outputs[LOGITS][:, :, 0], grades, mask)
        sums = {name: ops.sum(values * has_relevant) for name, values in metrics.items()}
        return {**sums, "lists": ops.sum(has_relevant)}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        return {name: float(statistics[name] / max(statistics["lists"], 1)) for name in self.metric_names}
