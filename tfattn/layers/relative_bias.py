"""The attention bias of relative positions, in ranges of distances."""

import math
from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn.layers.embeddings import EmbeddingTable


class RelativeBias(keras.layers.Layer):
    """A learned number for each head and each range of distances between a query and a key.

    All blocks of a stack share the bias. Since it depends on distances alone, there is no maximum sequence length.

    Args:
        num_heads: H.
        is_causal: whether keys after their query are never visible. Then all ranges are of keys before their query;
            else half of the ranges are of keys after it.
        num_buckets: N, the number of ranges. Half of the ranges of a direction are single distances, from 0; the others
            grow exponentially up to `max_distance`.
        max_distance: the distance from which on all distances share a number.
        initializer_range: the standard deviation of the numbers' truncated normal distribution.

    Call arguments:
        queries: (T,) int, the positions of the queries.
        keys: (S,) int, the positions of the keys.

    Returns:
        (1, H, T, S), an `attention_bias` of MultiHeadAttention.

    Example:
        >>> layer = RelativeBias(num_heads=2)
        >>> layer(ops.arange(5), ops.arange(7)).shape
        TensorShape([1, 2, 5, 7])

    Source: Raffel et al. 2020, "Exploring the limits of transfer learning with a unified text-to-text Transformer",
    section 2.1; the ranges: the released code of Mesh TensorFlow.
    """

    def __init__(
        self,
        *,
        num_heads: int,
        is_causal: bool = False,
        num_buckets: int = 32,
        max_distance: int = 128,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.is_causal = is_causal
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.initializer_range = initializer_range
        self.buckets = distance_buckets(num_buckets, max_distance, is_causal=is_causal)

    def build(self, queries_shape: tuple | None = None, keys_shape: tuple | None = None) -> None:
        self.table = EmbeddingTable(
            num_rows=self.num_buckets,
            width=self.num_heads,
            initializer_range=self.initializer_range,
            name="table",
            dtype=self.dtype_policy,
        )
        self.table.build()

    def call(self, queries: Any, keys: Any) -> Any:
        distances = ops.cast(queries, "int32")[:, None] - ops.cast(keys, "int32")  # (T, S)
        distances = ops.clip(distances, -self.max_distance, self.max_distance)
        rows = ops.take(ops.convert_to_tensor(self.buckets), distances + self.max_distance, axis=0)
        bias = ops.transpose(self.table(rows), (2, 0, 1))[None]  # (T, S, H) -> (1, H, T, S)
        return ops.cast(bias, self.compute_dtype)


def distance_buckets(num_buckets: int, max_distance: int, *, is_causal: bool) -> np.ndarray:
    """Compute the range of each distance t - s of a query t and a key s.

    Args:
        num_buckets: N.
        max_distance: M.
        is_causal: as RelativeBias.

    Returns:
        (2 M + 1,) int32, from 0 to N - 1, for the distances -M to M. If not causal, ranges from N / 2 on are of keys
        after their query.

    Example:
        >>> distance_buckets(4, 3, is_causal=True).tolist()
        [0, 0, 0, 0, 1, 2, 3]
    """
    distances = np.arange(-max_distance, max_distance + 1)
    size = num_buckets if is_causal else num_buckets // 2
    lengths = np.maximum(distances, 0) if is_causal else np.abs(distances)
    exact = size // 2
    # In float32, as the reference: in float64 some logarithms are rounded to another range.
    logarithms = np.log(np.maximum(lengths, 1).astype("float32") / np.float32(exact))
    far = exact + (logarithms / np.float32(math.log(max_distance / exact)) * np.float32(size - exact)).astype("int32")
    buckets = np.where(lengths < exact, lengths, np.minimum(far, size - 1))
    return (buckets + (0 if is_causal else size * (distances < 0))).astype("int32")
