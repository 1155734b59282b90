"""Token vectors with position encodings."""

from typing import Any

import keras
from keras import ops

from tfattn.errors import ConfigError
from tfattn.layers.dropout import Dropout
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.ops.positions import sinusoidal


class Positions(keras.layers.Layer):
    """Scaling of token vectors by sqrt(D) and addition of position encodings: (B, T, D) -> (B, T, D).

    The embedding table is not part of this layer, since source, target and output may share a table. The standard
    deviation of its values is D^-0.5, so that scaled vectors have the size of the sines and cosines.

    Masks: padded positions also get vectors; attention must hide them.

    Args:
        positions: "sinusoidal" adds sines and cosines in turn, "sinusoidal_halves" all sines before all cosines,
            "learned" a table's rows. "rotary" and "relative" add no positions: attention has them.
        max_sequence_length: the number of positions of the table, if learned.
        dropout: the fraction of the result that is dropped in training.

    Call arguments:
        x: (B, T, D), rows of a table, in float32.
        indices: (T,) int, the positions of x.

    Example:
        >>> layer = Positions(max_sequence_length=16)
        >>> layer(keras.ops.ones((1, 5, 8)), keras.ops.arange(5)).shape
        TensorShape([1, 5, 8])

    Source: Vaswani et al. 2017, "Attention is all you need", sections 3.4 and 3.5.
    """

    def __init__(
        self, *, positions: str = "sinusoidal", max_sequence_length: int = 512, dropout: float = 0.1, **kwargs: Any
    ):
        # Summed in float32, then cast.
        super().__init__(autocast=False, **kwargs)
        self.positions = positions
        self.max_sequence_length = max_sequence_length
        self.dropout = dropout

    def build(self, input_shape: tuple) -> None:
        width = input_shape[-1]
        if self.positions == "learned":
            self.position = EmbeddingTable(
                num_rows=self.max_sequence_length,
                width=width,
                initializer_range=width**-0.5,
                name="position",
                dtype=self.dtype_policy,
            )
            self.position.build()
        self.output_dropout = Dropout(self.dropout, name="dropout", dtype=self.dtype_policy)
        self.output_dropout.build(input_shape)

    def call(self, x: Any, indices: Any, training: bool = False) -> Any:
        width = x.shape[-1]
        x = x * width**0.5
        if self.positions in ("sinusoidal", "sinusoidal_halves"):
            x = x + sinusoidal(indices, width, interleaved=self.positions == "sinusoidal")
        elif self.positions == "learned":
            x = x + self.position(indices)
        return self.output_dropout(ops.cast(x, self.compute_dtype), training=training)


def check_heads(positions: str, hidden_dim: int, num_heads: int, head_dim: int | None = None) -> None:
    """Check that rotary positions can rotate the heads.

    Raises:
        ConfigError: positions are "rotary", and the width of a head is odd.
    """
    width = head_dim or hidden_dim // num_heads
    if positions == "rotary" and width % 2:
        raise ConfigError(
            "rotary positions rotate pairs of a head's components",
            key="num_heads" if head_dim is None else "head_dim",
            expected="heads of an even width" + f", hidden_dim={hidden_dim} divided by num_heads" * (head_dim is None),
            received=f"heads of width {width}",
        )
