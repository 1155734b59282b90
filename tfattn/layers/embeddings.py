"""Embeddings of token ids."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.dropout import Dropout
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.projection import Projection
from tfattn.ops.backend import embedding_lookup


class EmbeddingTable(keras.layers.Layer):
    """An embedding table: (...) int -> (..., D), float32 under any policy.

    Args:
        num_rows: the number of ids.
        width: D.
        initializer_range: the standard deviation of the table's truncated normal distribution.

    Example:
        >>> table = EmbeddingTable(num_rows=100, width=8)
        >>> table(keras.ops.ones((1, 5), "int32")).shape
        TensorShape([1, 5, 8])
    """

    def __init__(self, *, num_rows: int, width: int, initializer_range: float = 0.02, **kwargs: Any):
        # Rows are cast after the lookup: casting a table of 30,000 rows for the few hundred rows of a batch would cost
        # more than the lookup.
        super().__init__(autocast=False, **kwargs)
        self.num_rows = num_rows
        self.width = width
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple | None = None) -> None:
        initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        self.embeddings = self.add_weight(
            name="embeddings", shape=(self.num_rows, self.width), initializer=initializer, autocast=False
        )

    def call(self, ids: Any) -> Any:
        return embedding_lookup(self.embeddings, ids)


class Embeddings(keras.layers.Layer):
    """BERT's embeddings, the normalized sum of token, position and segment embeddings: (B, T) int -> (B, T, D).

    With an `embedding_dim` the normalized sum is projected to D, after dropout.

    Masks: padded positions also get vectors; attention must hide them.

    Args:
        vocabulary_size: the number of token ids.
        hidden_dim: D.
        embedding_dim: E, the width of the tables, if it is not D.
        max_sequence_length: the number of positions, the longest T.
        num_segments: the number of segment ids; 0 for no segment embeddings.
        positions: "learned" adds a table's rows; others, such as "rotary" or "relative", are left to attention.
        normalization: as `normalization_layer`.
        dropout: the fraction of the result that is dropped in training.
        layer_norm_epsilon: added to the variance before its root is taken.
        initializer_range: the standard deviation of the tables' truncated normal distribution.

    Call arguments:
        token_ids: (B, T) int.
        segment_ids: (B, T) int; None puts every token into segment 0.
        indices: (B, T) int, the position of each token in its sequence; None counts from 0 in every row.
        vectors: (B, T, E), used instead of the token embeddings; None looks them up.
        padding_mask: (B, T), True (or not 0) at real tokens, for batch normalization; None if all are real.

    Example:
        >>> layer = Embeddings(vocabulary_size=100, hidden_dim=8, max_sequence_length=16)
        >>> layer(keras.ops.ones((1, 5), "int32")).shape
        TensorShape([1, 5, 8])

    Source: Devlin et al. 2018, "BERT", figure 2; projection: Lan et al. 2020, "ALBERT", section 3.1.
    """

    def __init__(
        self,
        *,
        vocabulary_size: int,
        hidden_dim: int,
        embedding_dim: int | None = None,
        max_sequence_length: int,
        num_segments: int = 2,
        positions: str = "learned",
        normalization: str = "layer_norm",
        dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-12,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = vocabulary_size
        self.hidden_dim = hidden_dim
        self.embedding_dim = embedding_dim or hidden_dim
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.positions = positions
        self.normalization = normalization
        self.dropout = dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        tables = {"width": self.embedding_dim, "initializer_range": self.initializer_range, "dtype": self.dtype_policy}
        self.token = EmbeddingTable(num_rows=self.vocabulary_size, name="token", **tables)
        self.position = (
            EmbeddingTable(num_rows=self.max_sequence_length, name="position", **tables)
            if self.positions == "learned"
            else None
        )
        self.segment = (
            EmbeddingTable(num_rows=self.num_segments, name="segment", **tables) if self.num_segments else None
        )
        self.norm = normalization_layer(
            self.normalization, epsilon=self.layer_norm_epsilon, name="norm", dtype=self.dtype_policy
        )
        self.output_dropout = Dropout(self.dropout, name="dropout", dtype=self.dtype_policy)
        for layer in (self.token, self.position, self.segment, self.norm, self.output_dropout):
            if layer is not None:
                layer.build((*input_shape, self.embedding_dim))
        self.projection = None
        if self.embedding_dim != self.hidden_dim:
            self.projection = Projection(
                units=self.hidden_dim,
                initializer_range=self.initializer_range,
                name="projection",
                dtype=self.dtype_policy,
            )
            self.projection.build((*input_shape, self.embedding_dim))

    def call(
        self,
        token_ids: Any,
        segment_ids: Any = None,
        indices: Any = None,
        vectors: Any = None,
        padding_mask: Any = None,
        training: bool = False,
    ) -> Any:
        x = self.token(token_ids) if vectors is None else vectors
        if self.position is not None:
            length = ops.shape(token_ids)[1]
            x = x + (self.position.embeddings[None, :length] if indices is None else self.position(indices))
        if self.segment is not None and segment_ids is None:
            x = x + self.segment.embeddings[0]
        elif self.segment is not None:
            # A product with one-hot vectors: its gradient is a product too, and not a sum over B x T scattered rows.
            x = x + ops.matmul(ops.one_hot(segment_ids, self.num_segments, dtype=x.dtype), self.segment.embeddings)
        x = self.norm(x, padding_mask=padding_mask, training=training)
        x = self.output_dropout(x, training=training)
        return x if self.projection is None else self.projection(x)
