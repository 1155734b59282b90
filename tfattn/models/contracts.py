"""What a task may ask of a model: the capability, not the architecture."""

import keras


class Encoder(keras.Model):
    """Reads a whole sequence and answers a vector per position and one for all of it.

    `call(features, training=False)` takes `token_ids` (B, T), `padding_mask` (B, T) and, where the model has them,
    `segment_ids` (B, T); it returns `sequence_output` (B, T, D) and `pooled_output` (B, D). What stands at padded
    positions changes nothing at real ones.

    Attributes:
        hidden_dim: the width D of both outputs.
        max_sequence_length: the longest T it takes.
        pooler: the layer that makes `pooled_output`; a task that does not read it freezes it.
    """

    hidden_dim: int
    max_sequence_length: int
    pooler: keras.layers.Layer

    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables from the input upwards (embeddings, block 1, ..., top), for layer-wise rates."""
        raise NotImplementedError


class TableEncoder(keras.Model):
    """Reads the columns of a table's row and answers one vector for all of them.

    `call(features, training=False)` takes, as the model needs them, `numeric` (B, N), `piecewise` (B, N Q), `missing`
    (B, N) and `category_ids` (B, M); it returns `pooled_output` (B, D) and, where the model has them, what explains it:
    `essential_features` (B, E), the few numbers that alone decide, and `column_attention` (B, N + M), how much each
    column counts, which sums to 1. A row's answer does not depend on the other rows.

    Attributes:
        hidden_dim: the width D of `pooled_output`.
    """

    hidden_dim: int

    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables from the input upwards (tokens, block 1, ..., top), for layer-wise rates."""
        raise NotImplementedError
