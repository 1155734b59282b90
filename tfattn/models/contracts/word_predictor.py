"""The contract of models that learn word vectors."""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.models.contracts.model import Model


class WordPredictor(Model):
    """A model with a vector for each word, which predicts nearby words.

    `call(features, training=False)` takes `token_ids`, `words_before` and `words_after` (B, T), and, with n-gram
    vectors, `subword_ids` (B, T, M). It splits rows into N blocks of L words and returns `sequence_output`
    (B, N, L, D), the vector at each position that predicts C words of the block.

    Attributes:
        hidden_dim: the width D of the vectors.
        vocabulary_size: V, the number of words.
        subword_buckets: the number of character n-gram vectors.
        block: L, the number of words of a block.
        table: (V + subword_buckets, D), the vectors of all words, then of n-grams.
    """

    hidden_dim: int
    vocabulary_size: int
    subword_buckets: int
    block: int
    table: Any

    @abstractmethod
    def vectors(self, token_ids: Any, subword_ids: Any = None) -> Any:
        """Compute the vector of each word.

        Args:
            token_ids: (...) int, -1 for a word without its own vector.
            subword_ids: (..., M) int, its character n-grams, padded with -1; None without n-grams.

        Returns:
            (..., D), the mean of its own vector and its n-gram vectors.
        """
        raise NotImplementedError

    @abstractmethod
    def pairs(self, features: dict[str, Any]) -> Any:
        """Return which of the C words the vector at each position predicts: (B, N, L, C), 1 or 0."""
        raise NotImplementedError

    @abstractmethod
    def predicted(self, x: Any) -> Any:
        """Arrange values of each word as values of the C words: (B, N, L, ...) to (B, N, L or 1, C, ...)."""
        raise NotImplementedError

    @abstractmethod
    def scores(self, vectors: Any, outputs: Any) -> Any:
        """Compute the products of the vector at each position and the output vectors of the C words.

        Args:
            vectors: (B, N, L, D).
            outputs: (B, N, L, M, D), M output vectors of each word.

        Returns:
            (B, N, L, C, M).
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards."""
        raise NotImplementedError
