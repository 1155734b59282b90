"""The attention bias of disentangled relative positions."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn.layers.dropout import Dropout
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.layers.normalization import normalization_layer


class DisentangledBias(keras.layers.Layer):
    """Products of queries with the relative positions of keys, and of keys with the relative positions of queries.

    Scores of attention are the sum of three terms: content to content, which is the product of query and key; content
    to position; and position to content. This layer holds a vector for each range of distances between positions, which
    all blocks share. The queries and keys of these vectors are computed by the projection of each block.

    Scores are scaled by `scale_of`, the same for all three terms.

    Masks: attention hides padded keys after the bias is added.

    Args:
        num_buckets: N, the number of vectors for each direction. Distances up to N / 2 have their own vectors, and
            longer distances share vectors, in ranges that grow exponentially up to `max_distance`.
        max_distance: the distance from which on all distances share one vector.
        normalization: of the vectors, as `normalization_layer`.
        dropout: the fraction of the vectors that is dropped in training.
        epsilon: added to the variance, or mean square, of a vector before its root is taken.
        initializer_range: the standard deviation of the vectors' truncated normal distribution.

    Call arguments:
        x: (B, T, D), only its shape is used.

    Returns:
        a function `bias(query, key, project)`, an `attention_bias` of MultiHeadAttention, which returns (B, H, T, T).

    Example:
        >>> from tfattn.layers.multi_head_attention import MultiHeadAttention
        >>> layer, attention = DisentangledBias(), MultiHeadAttention(num_heads=2, scale=DisentangledBias.scale_of(4))
        >>> x = keras.random.normal((1, 5, 8))
        >>> attention(x, attention_bias=layer(x)).shape
        TensorShape([1, 5, 8])

    Source: He et al. 2021, "DeBERTa: decoding-enhanced BERT with disentangled attention", eq. 2 to 4; logarithmic
    ranges, and projections that contents and positions share: the released code of DeBERTa v2 and v3.
    """

    def __init__(
        self,
        *,
        num_buckets: int = 256,
        max_distance: int = 512,
        normalization: str = "layer_norm",
        dropout: float = 0.0,
        epsilon: float = 1e-7,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.normalization = normalization
        self.dropout = dropout
        self.epsilon = epsilon
        self.initializer_range = initializer_range
        self.buckets = distance_buckets(num_buckets, max_distance)

    @staticmethod
    def scale_of(head_dim: int) -> float:
        """Return the scale of the scores of heads of a width: 1 / sqrt(3 K), because scores have three terms."""
        return (3 * head_dim) ** -0.5

    def build(self, input_shape: tuple) -> None:
        width, policy = input_shape[-1], {"dtype": self.dtype_policy}
        self.relative = EmbeddingTable(
            num_rows=2 * self.num_buckets,
            width=width,
            initializer_range=self.initializer_range,
            name="relative",
            **policy,
        )
        self.norm = normalization_layer(self.normalization, epsilon=self.epsilon, name="norm", **policy)
        self.vectors_dropout = Dropout(self.dropout, name="dropout", **policy)
        for layer in (self.relative, self.norm, self.vectors_dropout):
            layer.build((None, width))

    def call(self, x: Any, training: bool = False) -> Callable[[Any, Any, Callable], Any]:
        length = ops.shape(x)[1]
        distances = ops.clip(ops.arange(-length, length + 1), -self.max_distance, self.max_distance)
        rows = ops.take(ops.convert_to_tensor(self.buckets), distances + self.max_distance, axis=0)
        vectors = self.norm(self.relative(rows))  # (2 T + 1, D), of the distances -T to T

        def bias(query: Any, key: Any, project: Callable) -> Any:
            dropped = self.vectors_dropout(vectors, training=training)
            position_query, position_key = (heads[0] for heads in project(dropped[None]))  # (H, 2 T + 1, K) each
            # Not products that broadcast over B: in bfloat16 TensorFlow computes them wrongly for a single head.
            to_position = ops.einsum("bhtk,hlk->bhtl", query, ops.flip(position_key[:, :-1], axis=1))  # (B, H, T, 2 T)
            to_content = ops.einsum("bhsk,hlk->bhsl", key, position_query[:, 1:])
            scores = _by_key(to_position) + ops.swapaxes(_by_key(to_content), -1, -2)
            return scores * ops.cast(self.scale_of(query.shape[-1]), scores.dtype)

        return bias


def distance_buckets(num_buckets: int, max_distance: int) -> np.ndarray:
    """Compute the vector of each distance t - s of a query t and a key s.

    Args:
        num_buckets: N.
        max_distance: M.

    Returns:
        (2 M + 1,) int32, from 0 to 2 N - 1, for the distances -M to M: N at 0, less for queries before their keys.

    Example:
        >>> distance_buckets(4, 6).tolist()
        [0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7]
    """
    buckets = np.arange(-max_distance, max_distance + 1, dtype="float64")
    middle = num_buckets // 2
    is_far = np.abs(buckets) > middle
    if max_distance - 1 > middle:
        # The distance before the maximum gets the last of the N vectors.
        far = buckets[is_far]
        steps = np.log(np.abs(far) / middle) / np.log((max_distance - 1) / middle) * (middle - 1)
        buckets[is_far] = np.sign(far) * (np.ceil(steps) + middle)
    return np.clip(buckets + num_buckets, 0, 2 * num_buckets - 1).astype("int32")


def _by_key(scores: Any) -> Any:
    """Arrange scores by distance as scores by position: (..., T, 2 T) to (..., T, T).

    Entry (t, s) is entry (t, s - t + T - 1) of the scores. Rows of 2 T entries, read as rows of 2 T - 1 entries, are
    shifted by one entry from each row to the next, so that no entries are gathered. The last column is not used.

    Source: Huang et al. 2019, "Music Transformer", section 3.4.1.
    """
    *others, length, width = ops.shape(scores)
    flat = ops.reshape(scores, (*others, length * width))
    shifted = flat[..., length - 1 : length - 1 + length * (width - 1)]
    return ops.reshape(shifted, (*others, length, width - 1))[..., :length]
