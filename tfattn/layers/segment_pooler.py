"""Pooling of a text, or of a pair of texts that are compared."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.projection import Projection
from tfattn.ops.pooling import largest


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
