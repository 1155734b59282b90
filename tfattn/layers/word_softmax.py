"""How surprising words are, given vectors that predict them: by all words, or by some drawn at random."""

import math
from typing import Any

import keras
from keras import ops

from tfattn.layers.embeddings import EmbeddingTable
from tfattn.ops.backend import embedding_lookup

IMPOSSIBLE = -1e9  # the score of a word that was drawn although it is the true one


class WordSoftmax(keras.layers.Layer):
    """A vector and a bias of each word, and -log of the softmax at the true one, in float32.

    Args:
        num_words: V, listed by how frequent they are.
        width: P.
        samples: how many words are drawn, for all places of a batch together, by `sampled`; None for none.

    Call arguments:
        x: (B, T, P), what predicts.
        token_ids: (B, T) int, the true words.

    Returns:
        (B, T) float32, in nats.

    Example:
        >>> layer = WordSoftmax(num_words=10, width=4)
        >>> layer(keras.ops.ones((2, 5, 4)), keras.ops.ones((2, 5), "int32")).shape
        TensorShape([2, 5])

    Source: Bengio and Senecal 2008, "Adaptive importance sampling to accelerate training of a neural probabilistic
    language model", section III; words are drawn by their ranks, evenly by the logarithm, with replacement.
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
        # Row by row: the scores of a whole batch would be gigabytes where there are many words.
        return ops.map(lambda row: self._of_row(*row), (ops.cast(x, self.compute_dtype), token_ids))

    def sampled(self, x: Any, token_ids: Any) -> Any:
        """Estimate the same while training, by the true word and those that are drawn: (B, T, P) -> (B, T)."""
        draws = ops.exp(keras.random.uniform((self.samples,), seed=self.seed) * math.log(self.num_words + 1))
        drawn = ops.clip(ops.cast(draws, "int32") - 1, 0, self.num_words - 1)
        x = ops.cast(x, self.compute_dtype)
        right = ops.cast(ops.sum(ops.cast(self.table(token_ids), x.dtype) * x, axis=-1), "float32")
        right = right + embedding_lookup(self.bias, token_ids)[..., 0]
        others = ops.matmul(x, ops.transpose(ops.cast(self.table(drawn), x.dtype)))  # (B, T, S)
        expected = self.samples * ops.log1p(1 / (ops.cast(drawn, "float32") + 1)) / math.log(self.num_words + 1)
        # What is drawn seldom counts for more: so the sum over those that are drawn is, in the mean, that over all.
        others = ops.cast(others, "float32") + (embedding_lookup(self.bias, drawn)[:, 0] - ops.log(expected))
        others = ops.where(token_ids[..., None] == drawn, IMPOSSIBLE, others)
        return ops.logaddexp(right, ops.logsumexp(others, axis=-1)) - right

    def _of_row(self, x: Any, token_ids: Any) -> Any:
        """Of one row: (T, P) and (T,) -> (T,)."""
        table = ops.cast(self.table.embeddings, x.dtype)
        scores = ops.cast(ops.matmul(x, ops.transpose(table)), "float32") + ops.cast(self.bias[:, 0], "float32")
        right = ops.take_along_axis(scores, token_ids[:, None], axis=-1)[:, 0]
        return ops.logsumexp(scores, axis=-1) - right
