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
