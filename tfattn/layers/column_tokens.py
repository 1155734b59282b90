"""Tokens of a table's row for categories, missing values and [CLS]."""

from typing import Any

import keras
import numpy as np
from keras import ops


class CategoryTokens(keras.layers.Layer):
    """Tokens of categorical columns, a vector of the category plus one of the column: (B, M) int -> (B, M, D).

    The vectors of all columns are in one table, at an offset for each column. The vector of id 0, a value that no
    training row has, is 0 and never trained: the token of an unknown value is the vector of the column alone.

    Args:
        width: D.
        category_counts: the number of ids of each of the M columns, 0 (unknown) and 1 (empty) included.

    Example:
        >>> layer = CategoryTokens(width=8, category_counts=[4, 9])
        >>> layer(keras.ops.ones((2, 2), "int32")).shape
        TensorShape([2, 2, 8])

    Source: Gorishniy et al. 2021, "Revisiting deep learning models for tabular data", section 3.3.
    """

    def __init__(self, *, width: int, category_counts: list[int], **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.width = width
        self.category_counts = category_counts

    def build(self, input_shape: tuple | None = None) -> None:
        self.offsets = np.cumsum([0, *self.category_counts[:-1]]).astype("int32")
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(sum(self.category_counts), self.width),
            initializer=self._initialize,
            autocast=False,
        )
        self.bias = self.add_weight(
            name="bias", shape=(len(self.category_counts), self.width), initializer=uniform(self.width), autocast=False
        )

    def call(self, ids: Any) -> Any:
        vectors = ops.take(self.embeddings, ops.cast(ids, "int32") + self.offsets, axis=0)
        return ops.cast(vectors + self.bias, self.compute_dtype)

    def _initialize(self, shape: tuple, dtype: Any = None) -> Any:
        known = np.ones((shape[0], 1), "float32")
        known[self.offsets] = 0.0
        return uniform(self.width)(shape, dtype) * ops.cast(known, dtype)


class MissingTokens(keras.layers.Layer):
    """A learned vector that is added to the tokens of missing numbers: (B, N, D) -> (B, N, D).

    A missing number is replaced by the column's median; the learned vector, initially 0, marks the replacement. In a
    column without missing numbers in training it stays 0.

    Call arguments:
        tokens: (B, N, D).
        missing: (B, N), 1 (or True) where the number is missing, else 0.

    Example:
        >>> layer = MissingTokens()
        >>> layer(keras.ops.ones((2, 3, 8)), keras.ops.zeros((2, 3))).shape
        TensorShape([2, 3, 8])
    """

    def build(self, tokens_shape: tuple, missing_shape: tuple | None = None) -> None:
        self.vectors = self.add_weight(name="vectors", shape=tokens_shape[1:], initializer="zeros")

    def call(self, tokens: Any, missing: Any) -> Any:
        return tokens + ops.cast(missing, tokens.dtype)[..., None] * self.vectors


class ClassToken(keras.layers.Layer):
    """The learned vector [CLS], prepended to the other tokens: (B, T, D) -> (B, 1 + T, D).

    Example:
        >>> layer = ClassToken()
        >>> layer(keras.ops.ones((2, 3, 8))).shape
        TensorShape([2, 4, 8])

    Source: Devlin et al. 2018, "BERT", section 3.
    """

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        self.vector = self.add_weight(name="vector", shape=(width,), initializer=uniform(width))

    def call(self, tokens: Any) -> Any:
        batch, _, width = ops.shape(tokens)
        first = ops.broadcast_to(ops.cast(self.vector, tokens.dtype), (batch, 1, width))
        return ops.concatenate([first, tokens], axis=1)


def uniform(width: int) -> keras.initializers.Initializer:
    """Return the initializer of token vectors, uniform between -1/sqrt(width) and 1/sqrt(width)."""
    return keras.initializers.RandomUniform(-(width**-0.5), width**-0.5)
