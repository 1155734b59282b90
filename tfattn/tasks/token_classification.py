"""Token classification: a label for each word of a text, from which entities are read."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from tfattn.config.types import Given, Rate
from tfattn.features import (
    ENDS,
    IS_TAGGED,
    LABEL_IDS,
    LOGITS,
    MAX_CONTEXT,
    PADDING_MASK,
    STARTS,
    WEIGHTS,
    WORD_NUMBERS,
)
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops import entities
from tfattn.ops.cross_entropy import smoothed_cross_entropy
from tfattn.ops.indexing import pick
from tfattn.tasks.label_metrics import LabelCounts, counts_of
from tfattn.tasks.operating_point import OperatingPoint
from tfattn.tasks.token_task import TokenTask

CROSS_ENTROPY = "cross_entropy"  # the only loss term


class TokenClassification(TokenTask):
    """A linear classifier of words on top of an encoder, which reads the vector of each word's first token.

    Args:
        model: the encoder that reads the texts.
        targets: known from the data: `labels`, the K entity types, None until they are read, and their `counts`.
        dropout: the fraction of each vector that is dropped in training.

    Call arguments:
        features: as TokenTask; for predictions `word_numbers`, `starts`, `ends` and `max_context` (B, T), and in
            training `label_ids` and `is_tagged` (B, T).

    Returns:
        as TokenTask, with U = 2 K + 1 labels: 0 outside of entities, 2 k + 1 at the first word of an entity of type k,
        2 k + 2 at its other words.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = TokenClassification(model=encoder, targets={"labels": ["LOC", "PER"], "counts": [3, 5]})
        >>> task({"token_ids": keras.ops.ones((1, 5), "int32")})["logits"].shape
        TensorShape([1, 5, 5])

    Source: Devlin et al. 2018, "BERT", section 5.3: a word is represented by its first sub-token.
    """

    loss_names = (CROSS_ENTROPY,)
    metric_names = ("f1", "precision", "recall", "token_accuracy")
    monitor = "f1"
    monitor_mode = "max"
    supports_ensemble = True

    def __init__(self, *, model: Given[Encoder], targets: Given[dict[str, Any]], dropout: Rate = 0.1):
        self.num_types = len(targets["counts"])
        super().__init__(model, units=2 * self.num_types + 1, dropout=dropout, name="token_classification")
        self.labels = targets["labels"]

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each token with a label, (B, T)."""
        has_label = ops.logical_and(batch[LABEL_IDS] >= 0, batch[PADDING_MASK])
        return {CROSS_ENTROPY: ops.cast(has_label, "float32") * ops.cast(batch[WEIGHTS], "float32")[:, None]}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the cross-entropy of each token, (B, T)."""
        label_ids = ops.maximum(batch[LABEL_IDS], 0)
        return {CROSS_ENTROPY: smoothed_cross_entropy(outputs[LOGITS], label_ids, smoothing=0.0)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `scores` (B, T, C), and `label_ids` and locations (B, T) each, of the words of each row.

        The words are at the first positions; `word_numbers` is 0 at the other positions.
        """
        is_word = outputs[WORD_NUMBERS] > 0
        scores = ops.softmax(outputs[LOGITS], axis=-1)
        values = {"scores": scores, LABEL_IDS: ops.cast(ops.argmax(scores, axis=-1), "int32")}
        values |= {name: outputs[name] for name in (WORD_NUMBERS, STARTS, ENDS, MAX_CONTEXT)}
        return _compact(values, is_word)

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Average the scores, and choose the labels by the mean."""
        scores = ops.mean(ops.stack([member["scores"] for member in predictions]), axis=0)
        label_ids = ops.cast(ops.argmax(scores, axis=-1), "int32")
        return {**predictions[0], "scores": scores, LABEL_IDS: label_ids}

    def merge_examples(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Take each word of a row from the window with the most context around it."""
        numbers = ops.convert_to_tensor(predictions[WORD_NUMBERS])
        longest = ops.max(numbers, initial=1)
        is_taken = ops.logical_and(numbers > 0, ops.convert_to_tensor(predictions[MAX_CONTEXT]) > 0)
        indices = ops.cast(rows, "int32")[:, None] * longest + numbers - 1
        indices = ops.reshape(ops.where(is_taken, indices, num_rows * longest), (-1,))  # the last segment is dropped

        def by_row(values: Any) -> Any:
            values = ops.convert_to_tensor(values)
            inner = values.shape[2:]
            taken = ops.segment_sum(ops.reshape(values, (-1, *inner)), indices, num_segments=num_rows * longest + 1)
            return ops.reshape(taken[:-1], (num_rows, longest, *inner))

        return {name: by_row(values) for name, values in predictions.items()}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count true, predicted and correct entities of each type, (K,) each, and all and correctly labeled words."""
        is_tagged = ops.logical_and(batch[IS_TAGGED] > 0, batch[WEIGHTS][:, None] > 0)
        given = ops.cast(ops.argmax(outputs[LOGITS], axis=-1), "int32")
        words = _compact({"true": batch[LABEL_IDS], "given": given}, is_tagged)
        mask = ops.arange(ops.shape(given)[1])[None, :] < ops.sum(ops.cast(is_tagged, "int32"), axis=1)[:, None]
        right = ops.logical_and(mask, words["true"] == words["given"])
        return {
            **entities.counts(words["true"], words["given"], mask, num_types=self.num_types),
            "right_words": ops.sum(ops.cast(right, "float32")),
            "words": ops.sum(ops.cast(mask, "float32")),
        }

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute precision, recall and F1 over all entities, and the accuracy of word labels.

        In training only words that are read count: entities in truncated text are not missed, and overlapping windows
        count each.
        """
        pooled = LabelCounts(*(np.array([part.sum()]) for part in vars(counts_of(statistics)).values()))
        found = {name: float(value) for name, (value,) in pooled.by_label.items()}
        return {**found, "token_accuracy": float(statistics["right_words"] / max(statistics["words"], 1))}


def _compact(values: dict[str, Any], chosen: Any) -> dict[str, Any]:
    """Move the chosen positions (B, T) of each row to its start, in order, and set the others to 0."""
    rows, width = ops.shape(chosen)
    positions = ops.arange(width, dtype="int32")[None, :]
    order = ops.argsort(ops.where(chosen, positions, width + positions), axis=1)

    def moved(x: Any) -> Any:
        inner = x.shape[2:]
        kept = ops.where(ops.reshape(chosen, (rows, width, *(1 for _ in inner))), x, ops.zeros_like(x))
        return pick(kept, order)

    return {name: moved(x) for name, x in values.items()}
