"""Word vectors, learned by predicting nearby words."""

import functools
from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol, runtime_checkable

import keras
import numpy as np
from keras import ops
from pydantic import PositiveInt

from tfattn.config.types import Given
from tfattn.features import NEGATIVE_IDS, SEQUENCE_OUTPUT, SUBWORD_IDS, TOKEN_IDS, WEIGHTS
from tfattn.layers.word_objectives import FullSoftmax, HierarchicalSoftmax, NegativeSampling, WordObjective
from tfattn.models.contracts.word_predictor import WordPredictor
from tfattn.ops.context_windows import WORDS_PER_NEGATIVE, in_blocks
from tfattn.tasks.task import Task

PAIRS = "pairs"  # the only loss term
VECTORS_BATCH = 10_000  # words whose vectors are computed together


@runtime_checkable
class WordStatistics(Protocol):
    """The required part of a preprocessor; it also has `counts`, (V,) int, the count of each word in the texts."""

    def encode(self, texts: Iterable[str]) -> Iterator[np.ndarray]:
        """Yield the word ids of each text."""

    def word_subwords(self) -> np.ndarray:
        """Return the n-gram ids of all words, if there are n-grams: (V, M) int, padded with -1."""


class Word2Vec(Task):
    """Training of word vectors by predicting nearby words.

    The loss is the mean over pairs of nearby words. The learning rate applies to each pair, as in the original word2vec
    code: a batch changes the vectors by the sum over its pairs. Too large batches therefore overshoot for frequent
    words, whose pairs are computed together.

    Args:
        model: `skip_gram` or `cbow`.
        preprocessor: the source of the word counts; known from the data.
        objective: `negative_sampling`; `hierarchical_softmax`, which needs no negative samples; or `softmax` over all
            words, for small vocabularies.
        negatives: the number of negative samples for each nearby word, in negative sampling.

    Call arguments:
        features: `token_ids`, `words_before` and `words_after` (B, T).

    Returns:
        `sequence_output` (B, N, L, D), the predicting vectors, in blocks.

    Source: Mikolov et al. 2013, "Distributed representations of words and phrases and their compositionality".
    """

    loss_names = (PAIRS,)
    predicts_rows = False
    sum_reduction = True

    def __init__(
        self,
        *,
        model: Given[WordPredictor],
        preprocessor: Given[WordStatistics],
        objective: Literal["negative_sampling", "hierarchical_softmax", "softmax"] = "negative_sampling",
        negatives: PositiveInt = 5,
    ):
        super().__init__(name="word2vec", autocast=False)
        self.model = model
        self.objective = _objective(objective, model, preprocessor, negatives)
        self._preprocessor = preprocessor
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        if self.model.subword_buckets:
            subwords = ops.take(ops.convert_to_tensor(self._subwords), features[TOKEN_IDS], axis=0)
            features = {**features, SUBWORD_IDS: subwords}
        return self.model(features, training=training)

    def word_vectors(self) -> np.ndarray:
        """Compute the vectors of all words, (V, D) float32."""
        found = []
        for first in range(0, self.model.vocabulary_size, VECTORS_BATCH):
            ids = np.arange(first, min(first + VECTORS_BATCH, self.model.vocabulary_size), dtype="int32")
            subwords = self._subwords[ids] if self.model.subword_buckets else None
            found.append(ops.convert_to_numpy(self.model.vectors(ids, subwords)))
        return np.concatenate(found)

    @functools.cached_property
    def _subwords(self) -> np.ndarray:
        return self._preprocessor.word_subwords()

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Count the target words of each position: (B, N, L)."""
        return {PAIRS: ops.sum(self._pairs(batch), axis=-1)}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the mean loss over the target words of each position: (B, N, L)."""
        pairs, block = self._pairs(batch), self.model.block
        words = in_blocks(batch[TOKEN_IDS], block)
        negatives = in_blocks(batch[NEGATIVE_IDS], block // WORDS_PER_NEGATIVE)
        total = self.objective.loss(self.model, outputs[SEQUENCE_OUTPUT], words, pairs, negatives)
        return {PAIRS: total / ops.maximum(ops.sum(pairs, axis=-1), 1.0)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the predicting vectors."""
        return {"vectors": outputs[SEQUENCE_OUTPUT]}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Return no metrics: only the loss is measured."""
        return {}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.model.depth_groups(), self.objective.trainable_variables]

    def _pairs(self, batch: dict[str, Any]) -> Any:
        """Return 1 for target words, (B, N, L, C) float32; 0 in rows that fill the batch."""
        is_real = ops.cast(batch[WEIGHTS] > 0, "float32")
        return self.model.pairs(batch) * is_real[:, None, None, None]


def _objective(name: str, model: WordPredictor, preprocessor: WordStatistics, negatives: int) -> WordObjective:
    size, width = model.vocabulary_size, model.hidden_dim
    if name == "hierarchical_softmax":
        return HierarchicalSoftmax(vocabulary_size=size, counts=lambda: preprocessor.counts, width=width)
    if name == "softmax":
        return FullSoftmax(vocabulary_size=size, width=width)
    return NegativeSampling(vocabulary_size=size, width=width, negatives=negatives)
