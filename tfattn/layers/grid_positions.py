"""Position encodings of a grid of tokens."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.dropout import Dropout
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.ops.positions import sinusoidal_grid


class GridPositions(keras.layers.Layer):
    """Addition of position encodings to the tokens of a grid, row by row: (B, T, D) -> (B, T, D).

    Args:
        grid: rows and columns.
        num_prefix_tokens: the number of tokens before the grid, which have no position in it. Learned positions have a
            vector for each of them.
        num_registers: the number of further tokens, between these and the grid, to which nothing is added.
        positions: "learned" adds a vector for each token, "sinusoidal" sines and cosines of its row and its column (0
            for tokens before the grid), "none" adds no positions.
        dropout: the fraction of the result that is dropped in training.
        initializer_range: the standard deviation of the learned vectors' truncated normal distribution.

    Example:
        >>> layer = GridPositions(grid=(2, 3), num_prefix_tokens=1)
        >>> layer(ops.ones((1, 7, 8))).shape
        TensorShape([1, 7, 8])

    Source: Dosovitskiy et al. 2021, "An image is worth 16 x 16 words", eq. 1.
    """

    def __init__(
        self,
        *,
        grid: tuple[int, int],
        num_prefix_tokens: int = 0,
        num_registers: int = 0,
        positions: str = "learned",
        dropout: float = 0.0,
        initializer_range: float = 0.02,
        **kwargs: Any,
    ):
        # Summed in float32, then cast.
        super().__init__(autocast=False, **kwargs)
        self.grid = tuple(grid)
        self.num_prefix_tokens = num_prefix_tokens
        self.num_registers = num_registers
        self.positions = positions
        self.dropout = dropout
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        if self.positions == "learned":
            rows, columns = self.grid
            self.position = EmbeddingTable(
                num_rows=self.num_prefix_tokens + rows * columns,
                width=input_shape[-1],
                initializer_range=self.initializer_range,
                name="position",
                dtype=self.dtype_policy,
            )
            self.position.build()
        self.output_dropout = Dropout(self.dropout, name="dropout", dtype=self.dtype_policy)
        self.output_dropout.build(input_shape)

    def call(self, x: Any, training: bool = False) -> Any:
        if self.positions != "none":
            x = x + ops.cast(self._vectors(x.shape[-1]), x.dtype)
        return self.output_dropout(ops.cast(x, self.compute_dtype), training=training)

    def _vectors(self, width: int) -> Any:
        """Return the vectors of all tokens, (T, D)."""
        if self.positions == "sinusoidal":
            return ops.pad(
                sinusoidal_grid(*self.grid, width), ((self.num_prefix_tokens + self.num_registers, 0), (0, 0))
            )
        vectors = self.position.embeddings
        if not self.num_registers:
            return vectors
        before, grid = ops.split(vectors, [self.num_prefix_tokens])
        return ops.concatenate([before, ops.zeros((self.num_registers, width), dtype=vectors.dtype), grid])
