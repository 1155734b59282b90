"""Layers that pool a sequence into one vector."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.projection import Projection
from tfattn.ops.pooling import largest


class Pooler(keras.layers.Layer):
    """BERT's pooler, a dense layer with tanh on the vector of the first token: (B, T, D) -> (B, D).

    Masks: the first token is never padding.

    Args:
        initializer_range: the standard deviation of the kernel's truncated normal distribution.

    Example:
        >>> layer = Pooler()
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 8])

    Source: Devlin et al. 2018, "BERT"; the released code's `pooler`.
    """

    def __init__(self, *, initializer_range: float = 0.02, **kwargs: Any):
        super().__init__(**kwargs)
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        self.dense = Projection(
            units=input_shape[-1], initializer_range=self.initializer_range, dtype=self.dtype_policy, name="dense"
        )
        self.dense.build((input_shape[0], input_shape[-1]))

    def call(self, x: Any) -> Any:
        return ops.tanh(self.dense(x[:, 0]))


class SegmentPooler(keras.layers.Layer):
    """Maximum pooling of each text, and a comparison of two texts: (B, T, D) -> (B, D).

    For texts u and v, the vectors u, v, |u - v| and u v are concatenated; without a second text v is 0. A linear map
    and tanh reduce them to the input width.

    Masks: padded positions never change the output.

    Call arguments:
        x: (B, T, D).
        padding_mask: (B, T) bool, True at real tokens; None if all are real.
        segment_ids: (B, T) int, 0 for the first text and 1 for the second; None for a single text.

    Example:
        >>> SegmentPooler()(keras.ops.ones((2, 5, 4))).shape
        TensorShape([2, 4])

    Source: Conneau et al. 2017, "Supervised learning of universal sentence representations", section 3.1 and 3.2.3;
    Wang et al. 2019, "GLUE", section 5.1.
    """

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        self.dense = Projection(units=width, initializer_range=None, dtype=self.dtype_policy, name="dense")
        self.dense.build((None, 4 * width))

    def call(self, x: Any, padding_mask: Any = None, segment_ids: Any = None) -> Any:
        real = ops.ones(ops.shape(x)[:2], "bool") if padding_mask is None else ops.cast(padding_mask, "bool")
        segments = ops.zeros(ops.shape(x)[:2], "int32") if segment_ids is None else segment_ids
        u, v = (largest(x, ops.logical_and(real, segments == number)) for number in (0, 1))
        return ops.tanh(self.dense(ops.concatenate([u, v, ops.abs(u - v), u * v], axis=-1)))


class AttentionPooling(keras.layers.Layer):
    """The mean of a sequence's vectors, weighted by the softmax of learned scores: (B, T, D) -> (B, D).

    It always computes in float32.

    Masks: all positions count.

    Args:
        initializer_range: the standard deviation of the kernel's truncated normal distribution.

    Example:
        >>> layer = AttentionPooling()
        >>> layer(keras.random.normal((1, 5, 8))).shape
        TensorShape([1, 8])

    Source: Hassani et al. 2021, "Escaping the big data paradigm with compact Transformers", eq. 4 to 6. Their score
    has a bias, which does not change a softmax.
    """

    def __init__(self, *, initializer_range: float = 0.02, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        self.score = Projection(
            units=1, use_bias=False, initializer_range=self.initializer_range, name="score", dtype="float32"
        )
        self.score.build(input_shape)

    def call(self, x: Any) -> Any:
        x = ops.cast(x, "float32")
        return ops.cast(ops.matmul(self.fractions(x)[:, None], x)[:, 0], self.compute_dtype)

    def fractions(self, x: Any) -> Any:
        """Compute the weight of each vector: (B, T, D) -> (B, T) float32, which sum to 1."""
        return ops.softmax(self.score(ops.cast(x, "float32"))[..., 0], axis=1)
