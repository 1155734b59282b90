"""Full and sampled softmax cross-entropy of words."""

import math
from typing import Any

import keras
from keras import ops

from tfattn.layers.embeddings import EmbeddingTable
from tfattn.ops.backend import embedding_lookup

EXCLUDED_SCORE = -1e9  # of a sampled word that is the target


class WordSoftmax(keras.layers.Layer):
    """The softmax cross-entropy of target words, with a vector and a bias for each word, in float32.

    Args:
        num_words: V, the number of words, sorted by frequency.
        width: P.
        samples: the number of words that `sampled` draws for all positions of a batch together; None without `sampled`.

    Call arguments:
        x: (B, T, P), the predicting vectors.
        token_ids: (B, T) int, the target words.

    Returns:
        (B, T) float32, in nats.

    Example:
        >>> layer = WordSoftmax(num_words=10, width=4)
        >>> layer(keras.ops.ones((2, 5, 4)), keras.ops.ones((2, 5), "int32")).shape
        TensorShape([2, 5])

    Source: Bengio and Senecal 2008, "Adaptive importance sampling to accelerate training of a neural probabilistic
    language model", section III; words are sampled log-uniformly by rank, with replacement.
    """

    def __init__(self, *, num_words: int, width: int, samples: int | None = None, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.num_words = num_words
        self.width = width
        self.samples = samples

    def build(self, *input_shapes: Any, **shapes: Any) -> None:
        self.table = EmbeddingTable(
            num_rows=self.num_words, width=self.width, initializer_range=self.width**-0.5, name="table"
        )
        self.table.build()
        self.bias = self.add_weight(name="bias", shape=(self.num_words, 1), initializer="zeros")
        self.bias.decays = False
        if self.samples:
            self.seed = keras.random.SeedGenerator(name="seed")

    def call(self, x: Any, token_ids: Any) -> Any:
        # Row by row: the scores of a whole batch would take gigabytes with a large vocabulary.
        return ops.map(lambda row: self._of_row(*row), (ops.cast(x, self.compute_dtype), token_ids))

    def sampled(self, x: Any, token_ids: Any) -> Any:
        """Estimate the cross-entropy in training from the target and sampled words: (B, T, P) -> (B, T)."""
        draws = ops.exp(keras.random.uniform((self.samples,), seed=self.seed) * math.log(self.num_words + 1))
        drawn = ops.clip(ops.cast(draws, "int32") - 1, 0, self.num_words - 1)
        x = ops.cast(x, self.compute_dtype)
        right = ops.cast(ops.sum(ops.cast(self.table(token_ids), x.dtype) * x, axis=-1), "float32")
        right = right + embedding_lookup(self.bias, token_ids)[..., 0]
        others = ops.matmul(x, ops.transpose(ops.cast(self.table(drawn), x.dtype)))  # (B, T, S)
        expected = self.samples * ops.log1p(1 / (ops.cast(drawn, "float32") + 1)) / math.log(self.num_words + 1)
        # Importance weights: the expectation of the sum over sampled words is the sum over all words.
        others = ops.cast(others, "float32") + (embedding_lookup(self.bias, drawn)[:, 0] - ops.log(expected))
        others = ops.where(token_ids[..., None] == drawn, EXCLUDED_SCORE, others)
        return ops.logaddexp(right, ops.logsumexp(others, axis=-1)) - right

    def _of_row(self, x: Any, token_ids: Any) -> Any:
        """Compute the cross-entropy of one row: (T, P) and (T,) -> (T,)."""
        table = ops.cast(self.table.embeddings, x.dtype)
        scores = ops.cast(ops.matmul(x, ops.transpose(table)), "float32") + ops.cast(self.bias[:, 0], "float32")
        right = ops.take_along_axis(scores, token_ids[:, None], axis=-1)[:, 0]
        return ops.logsumexp(scores, axis=-1) - right
