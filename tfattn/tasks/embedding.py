"""Text embeddings: an encoder whose vectors are close for texts that belong together."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

import keras
import numpy as np
from keras import ops
from pydantic import Field, PositiveFloat, PositiveInt

from tfattn.config.relations import OnlyWith
from tfattn.config.types import Given, Rate
from tfattn.errors import ConfigError
from tfattn.features import (
    CHARACTER_IDS,
    EMBEDDING,
    ENCODED,
    PADDING_MASK,
    SECOND_ENCODED,
    SEGMENT_IDS,
    TARGET_VALUES,
    TEXT_HASHES,
    TOKEN_IDS,
    WEIGHTS,
)
from tfattn.layers.dropout import Dropout
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops.contrastive import cosent, cosines, in_batch_negatives
from tfattn.tasks.number_metrics import number_metrics, spearman
from tfattn.tasks.retrieval_metrics import GAIN, RETRIEVAL_METRICS, Retrieval
from tfattn.tasks.row_task import Pooling
from tfattn.tasks.task import Task
from tfattn.tasks.text_backbone import TextBackbone

Loss = Literal["in_batch_negatives", "simcse", "cosent", "cosine"]

CORRELATIONS = ("pearson", "spearman")
TOKENS = (TOKEN_IDS, SEGMENT_IDS, PADDING_MASK, CHARACTER_IDS)


class Embedding(Task):
    """An encoder of texts, trained so that cosine similarities rank texts.

    The rows are pairs of an anchor and a positive text, with hard negatives or without, pairs with a similarity score,
    or single texts; see `data.examples.columns` and `data.targets.scored`.

    The loss of a row depends on the other rows of its batch. It is computed over the whole batch, for any number of
    replicas and micro-batches.

    Args:
        model: the encoder of the texts.
        targets: known from the data: `scored`, and of scored pairs `low` and `high`, the range of the training scores.
        examples: known from the data: `columns`, the roles of the N texts of a row, and `prompts`, the text before the
            texts of a role.
        loss: "in_batch_negatives" (InfoNCE): the positive of an anchor against the positives and hard negatives of all
            rows of the batch, without texts that equal its positive, and positives of an equal anchor. "simcse": each
            text against all texts of the batch, encoded twice with different dropout. "cosent": of two pairs, the pair
            with the higher score is more similar. "cosine": the squared difference of the cosine and the score, scaled
            to the range from 0 to 1. By default "cosent" for scored pairs, else "in_batch_negatives".
        temperature: similarities are divided by it in all losses but "cosine".
        symmetric: whether "in_batch_negatives" is the mean of both directions: the positive of each anchor, and the
            anchor of each positive.
        dimensions: Matryoshka: the loss is the sum over vectors cut to these lengths, descending. The exported vector
            has the first length. By default the width of the encoder alone.
        dimension_weights: the weight of the loss of each length; 1 by default.
        pooling: how a text is pooled into a vector: the "mean" or "max" over its tokens, the "cls" vector, or BERT's
            "pooler".
        normalize: whether predicted vectors are normalized to length 1. Losses and metrics always use cosines.
        dropout: the fraction of the vector that is dropped in training.

    Call arguments:
        features: `token_ids`, `segment_ids` and `padding_mask`, (B, N, T) each; (B, T) for single texts.

    Returns:
        a dictionary of `encoded` (B, N, D) float32, the pooled vectors; (B, D) for single texts; and with "simcse"
        `second_encoded`, likewise. `predictions` has `embedding` (B, N, D') float32, cut to the first of `dimensions`.

    Raises:
        ConfigError: the loss does not fit the data; the dimensions are not descending, or larger than the encoder's;
            the weights are not as many; or "simcse" has an encoder without dropout.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = Embedding(model=encoder, targets={"scored": False}, examples={"columns": ["anchor", "positive"]})
        >>> task.predictions(task({"token_ids": keras.ops.ones((3, 2, 5), "int32")}))["embedding"].shape
        TensorShape([3, 2, 8])

    Source: Reimers and Gurevych 2019, "Sentence-BERT"; Gao et al. 2021, "SimCSE"; Kusupati et al. 2022, "Matryoshka
    representation learning"; the losses name theirs.
    """

    def __init__(
        self,
        *,
        model: Given[Encoder],
        targets: Given[dict[str, Any]],
        examples: Given[dict[str, Any]],
        loss: Loss | None = None,
        temperature: PositiveFloat = 0.05,
        symmetric: Annotated[bool, OnlyWith("loss", values=("in_batch_negatives", None))] = False,
        dimensions: Annotated[list[PositiveInt], Field(min_length=1)] | None = None,
        dimension_weights: Annotated[list[PositiveFloat] | None, OnlyWith("dimensions")] = None,
        pooling: Pooling = "mean",
        normalize: bool = True,
        dropout: Rate = 0.0,
    ):
        super().__init__(name="embedding", autocast=False)
        self.scored: bool = targets.get("scored", False)
        self.columns: list[str] = examples["columns"]
        self.prompts: dict[str, str] = examples.get("prompts", {})
        self.low, self.high = targets.get("low", 0.0), targets.get("high", 1.0)
        self.loss_name = loss or ("cosent" if self.scored else "in_batch_negatives")
        self.temperature = temperature
        self.symmetric = symmetric
        self.dimensions = _checked(dimensions, width=model.hidden_dim)
        self.dimension_weights = dimension_weights or [1.0] * len(self.dimensions)
        self.normalize = normalize
        self.backbone = TextBackbone(model, encoder="fine_tune", pooling=pooling, pooled_layers=1, dropout=dropout)
        self._check(dropout)
        self.built = True
        self.loss_names = (self.loss_name,)
        if self.loss_name != "cosine":
            encoded = (ENCODED, SECOND_ENCODED) if self.loss_name == "simcse" else (ENCODED,)
            self.whole_batch = (*encoded, TEXT_HASHES, WEIGHTS, *([TARGET_VALUES] if self.scored else []))
        if self.scored:
            self.metric_names, self.monitor, self.monitor_mode = CORRELATIONS, "spearman", "max"
        elif len(self.columns) > 1:
            self.metric_names, self.monitor, self.monitor_mode = RETRIEVAL_METRICS, GAIN, "max"

    @property
    def model(self) -> keras.Model:
        """The encoder of the texts."""
        return self.backbone.model

    @property
    def optional_layers(self) -> Sequence[keras.layers.Layer]:
        return self.backbone.optional_layers

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = {ENCODED: self._encode(features, training)}
        if self.loss_name == "simcse":
            outputs[SECOND_ENCODED] = self._encode(features, training) if training else outputs[ENCODED]
        return outputs

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each row, (B,)."""
        return {self.loss_name: ops.cast(batch[WEIGHTS], "float32")}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the loss of each row, (B,), summed over the dimensions; that of "cosent" is the same for all rows."""
        terms = {
            "in_batch_negatives": self._in_batch_negatives,
            "simcse": self._simcse,
            "cosent": self._cosent,
            "cosine": self._cosine,
        }[self.loss_name]
        vectors = {name: outputs[name] for name in (ENCODED, SECOND_ENCODED) if name in outputs}
        total = 0.0
        for size, weight in zip(self.dimensions, self.dimension_weights, strict=True):
            total += weight * terms({name: value[..., :size] for name, value in vectors.items()}, batch)
        return {self.loss_name: total}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `embedding` (B, N, D') float32; (B, D') for single texts."""
        vectors = outputs[ENCODED][..., : self.dimensions[0]]
        return {EMBEDDING: ops.normalize(vectors, axis=-1) if self.normalize else vectors}

    def per_example(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return the vectors, and scores or hashes of texts: ranks are not sums over batches."""
        if not self.metric_names:
            return {}
        vectors = self.predictions(outputs)
        if self.scored:
            return {"cosines": cosines(*_pair(vectors[EMBEDDING])), "true": batch[TARGET_VALUES]}
        return {**vectors, TEXT_HASHES: batch[TEXT_HASHES]}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the correlations of cosines with scores, or the metrics of Retrieval; none for single texts."""
        if self.scored:
            true, found = rows["true"], rows["cosines"]
            return {"pearson": number_metrics(true, found)["pearson"], "spearman": spearman(true, found)}
        return Retrieval.of(rows[EMBEDDING], rows[TEXT_HASHES]).metrics if self.metric_names else {}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return self.backbone.depth_groups()

    def _encode(self, features: dict[str, Any], training: bool) -> Any:
        """Return the vectors of texts, (B, N, D) or (B, D)."""
        tokens = {name: features[name] for name in TOKENS if name in features}
        if len(tokens[TOKEN_IDS].shape) == 2:
            return self._encode_texts(tokens, training)
        # Anchors such as questions are often much shorter than the other texts: each column has its own padding.
        columns = [_column(tokens, number) for number in range(len(self.columns))]
        return ops.stack([self._encode_texts(column, training) for column in columns], axis=1)

    def _encode_texts(self, tokens: dict[str, Any], training: bool) -> Any:
        return self.backbone.apply_dropout(self.backbone.encode(tokens, training=training)[ENCODED], training=training)

    def _in_batch_negatives(self, outputs: dict[str, Any], batch: dict[str, Any]) -> Any:
        vectors, hashes = outputs[ENCODED], batch[TEXT_HASHES]
        anchors, positives = _pair(vectors)
        real = ops.cast(batch[WEIGHTS] > 0, "bool")
        same_anchor, same_positive = (_equal(hashes[:, number], hashes[:, number]) for number in (0, 1))
        is_other = ops.logical_and(real[None, :], ops.logical_not(ops.logical_or(same_anchor, same_positive)))
        candidates, is_negative = [positives], [is_other]
        for number in range(2, len(self.columns)):
            candidates.append(vectors[:, number])
            is_same = _equal(hashes[:, 1], hashes[:, number])
            is_negative.append(ops.logical_and(real[None, :], ops.logical_not(is_same)))
        losses = in_batch_negatives(
            anchors,
            ops.concatenate(candidates),
            ops.concatenate(is_negative, axis=1),
            temperature=self.temperature,
        )
        if not self.symmetric:
            return losses
        return (losses + in_batch_negatives(positives, anchors, is_other, temperature=self.temperature)) / 2

    def _simcse(self, outputs: dict[str, Any], batch: dict[str, Any]) -> Any:
        rows, texts, width = ops.shape(outputs[ENCODED])
        first, second = (ops.reshape(outputs[name], (-1, width)) for name in (ENCODED, SECOND_ENCODED))
        hashes = ops.reshape(batch[TEXT_HASHES], (-1, 2))
        real = ops.repeat(batch[WEIGHTS] > 0, texts)
        is_negative = ops.logical_and(real[None, :], ops.logical_not(_equal(hashes, hashes)))
        losses = in_batch_negatives(first, second, is_negative, temperature=self.temperature)
        return ops.mean(ops.reshape(losses, (rows, texts)), axis=1)

    def _cosent(self, outputs: dict[str, Any], batch: dict[str, Any]) -> Any:
        similarities = cosines(*_pair(outputs[ENCODED]))
        loss = cosent(similarities, batch[TARGET_VALUES], batch[WEIGHTS] > 0, temperature=self.temperature)
        return loss * ops.ones_like(similarities)

    def _cosine(self, outputs: dict[str, Any], batch: dict[str, Any]) -> Any:
        wanted = (batch[TARGET_VALUES] - self.low) / (self.high - self.low)
        return ops.square(cosines(*_pair(outputs[ENCODED])) - wanted)

    def _check(self, dropout: float) -> None:
        """Check that loss, data and dimensions fit."""
        needs_scores, texts = self.loss_name in ("cosent", "cosine"), len(self.columns)
        if needs_scores and not self.scored:
            raise ConfigError(
                "the loss compares similarities with scores",
                key="loss",
                expected="`data.targets.scored: true`, or another loss",
                received=self.loss_name,
            )
        if self.scored and (texts != 2 or self.loss_name == "in_batch_negatives"):
            raise ConfigError(
                "a score is for a pair of texts, which the loss compares",
                key="loss",
                expected="cosent, cosine or simcse, and two roles in `data.examples.columns`",
                received=f"{self.loss_name}, {', '.join(self.columns)}",
                remedy="Remove `data.targets.scored` to train on pairs without their scores.",
            )
        if texts == 1 and self.loss_name != "simcse":
            raise ConfigError(
                "single texts have no positive text",
                key="loss",
                expected="simcse, or two roles or more in `data.examples.columns`",
                received=self.loss_name,
            )
        if self.loss_name == "simcse" and not dropout and not _has_dropout(self.model):
            raise ConfigError(
                "both vectors of a text would be equal",
                key="loss",
                expected="`dropout` above 0 in the section of the model or the task",
                received="simcse without dropout",
            )
        if len(self.dimension_weights) != len(self.dimensions):
            raise ConfigError(
                "each dimension has a weight",
                key="dimension_weights",
                expected=f"{len(self.dimensions)} numbers",
                received=str(len(self.dimension_weights)),
            )


def _checked(dimensions: list[int] | None, *, width: int) -> list[int]:
    if dimensions is None:
        return [width]
    if dimensions[0] > width or any(first <= second for first, second in pairwise(dimensions)):
        raise ConfigError(
            "the dimensions do not fit the encoder",
            key="dimensions",
            expected=f"descending numbers of at most {width}, the width of the encoder",
            received=str(dimensions),
        )
    return dimensions


def _pair(vectors: Any) -> tuple[Any, Any]:
    return vectors[:, 0], vectors[:, 1]


def _equal(first: Any, second: Any) -> Any:
    """Compare the hashes of texts: (B, 2) and (M, 2) int32 -> (B, M) bool."""
    return ops.all(first[:, None, :] == second[None, :, :], axis=-1)


def _column(tokens: dict[str, Any], number: int) -> dict[str, Any]:
    """Return the features of the texts of a column, cut to the longest: (B, N, T) -> (B, T')."""
    column = {name: value[:, number] for name, value in tokens.items()}
    if PADDING_MASK not in column:
        return column
    length = ops.max(ops.sum(ops.cast(column[PADDING_MASK], "int32"), axis=1))
    return {name: value[:, :length] for name, value in column.items()}


def _has_dropout(model: keras.Model) -> bool:
    return any(layer.rate > 0 for layer in model._flatten_layers() if isinstance(layer, Dropout))
