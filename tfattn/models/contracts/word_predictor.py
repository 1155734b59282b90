"""The contract of models that learn vectors of words."""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.models.contracts.model import Model


class WordPredictor(Model):
    """A model that has a vector of each word, with which it predicts words that stand near each other.

    `call(features, training=False)` takes `token_ids`, `words_before` and `words_after` (B, T), and, where vectors are
    made of those of n-grams too, `subword_ids` (B, T, M). It cuts rows into N blocks of L words and returns
    `sequence_output` (B, N, L, D), the vector at each place that predicts C words of the block.

    Attributes:
        hidden_dim: the width D of the vectors.
        vocabulary_size: V, the number of words.
        subword_buckets: how many n-grams of characters have vectors of their own.
        block: L.
        table: (V + subword_buckets, D), the vectors of words, then those of n-grams.
    """

    hidden_dim: int
    vocabulary_size: int
    subword_buckets: int
    block: int
    table: Any

    @abstractmethod
    def vectors(self, token_ids: Any, subword_ids: Any = None) -> Any:
        """Make the vector of each word.

        Args:
            token_ids: (...) int, -1 for a word that has no vector of its own.
            subword_ids: (..., M) int, the n-grams of its characters, filled up with -1; None where there are none.

        Returns:
            (..., D), the mean of its own vector and those of its n-grams.
        """
        raise NotImplementedError

    @abstractmethod
    def pairs(self, features: dict[str, Any]) -> Any:
        """Tell which of the C words the vector at each place is to predict: (B, N, L, C), 1 or 0."""
        raise NotImplementedError

    @abstractmethod
    def predicted(self, x: Any) -> Any:
        """Arrange what is known of each word as that of the C words: (B, N, L, ...) to (B, N, L or 1, C, ...)."""
        raise NotImplementedError

    @abstractmethod
    def scores(self, vectors: Any, outputs: Any) -> Any:
        """Multiply the vector at each place with what the C words have.

        Args:
            vectors: (B, N, L, D).
            outputs: (B, N, L, M, D), M vectors of each word.

        Returns:
            (B, N, L, C, M).
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards."""
        raise NotImplementedError
