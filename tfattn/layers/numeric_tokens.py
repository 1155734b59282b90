"""Tokens of the numeric columns of a table: linear, piecewise linear or periodic.

All compute in float32 under any policy, and cast their tokens at the end: a number in bfloat16 has two digits.
"""

import math
from typing import Any

import keras
from keras import ops


class ColumnProjection(keras.layers.Layer):
    """A separate linear map for each column: (B, N, F) -> (B, N, units).

    Args:
        units: the width of the output.

    Example:
        >>> layer = ColumnProjection(units=8)
        >>> layer(keras.ops.ones((2, 3, 4))).shape
        TensorShape([2, 3, 8])

    Source: Gorishniy et al. 2021, "Revisiting deep learning models for tabular data", section 3.3, whose initial
    values, uniform between -1/sqrt(units) and 1/sqrt(units), are for columns of width F = 1.
    """

    def __init__(self, *, units: int, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.units = units

    def build(self, input_shape: tuple) -> None:
        _, columns, width = input_shape
        # So that the size of the sum over F does not depend on F.
        bound = (width * self.units) ** -0.5
        uniform = keras.initializers.RandomUniform
        self.kernel = self.add_weight(
            name="kernel", shape=(columns, width, self.units), initializer=uniform(-bound, bound), autocast=False
        )
        bound = self.units**-0.5
        self.bias = self.add_weight(
            name="bias", shape=(columns, self.units), initializer=uniform(-bound, bound), autocast=False
        )

    def call(self, x: Any) -> Any:
        x = ops.cast(x, "float32")
        # For F = 1 the product is an outer product, which multiplication computes in one pass.
        products = x * self.kernel[:, 0] if x.shape[-1] == 1 else ops.einsum("bnf,nfd->bnd", x, self.kernel)
        return ops.cast(products + self.bias, self.compute_dtype)


class LinearTokens(keras.layers.Layer):
    """Tokens that are linear in the column's number, x w + b with vectors w and b of the column: (B, N) -> (B, N, D).

    Args:
        width: D.

    Example:
        >>> layer = LinearTokens(width=8)
        >>> layer(keras.ops.ones((2, 3))).shape
        TensorShape([2, 3, 8])

    Source: Gorishniy et al. 2021, "Revisiting deep learning models for tabular data", section 3.3.
    """

    def __init__(self, *, width: int, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.width = width

    def build(self, input_shape: tuple) -> None:
        self.projection = ColumnProjection(units=self.width, name="projection", dtype=self.dtype_policy)
        self.projection.build((*input_shape, 1))

    def call(self, x: Any) -> Any:
        return self.projection(x[..., None])


class PiecewiseLinearTokens(keras.layers.Layer):
    """Tokens that are piecewise linear in the column's number, given its encoding by bins: (B, N Q) -> (B, N, D).

    The bins below a number are encoded as 1, the bins above as 0, and the bin of the number as the fraction of the bin
    below it (`preprocessing.piecewise`); the token is a linear map of this encoding.

    Args:
        width: D.
        num_bins: Q, bins of each column.

    Example:
        >>> layer = PiecewiseLinearTokens(width=8, num_bins=4)
        >>> layer(keras.ops.ones((2, 3 * 4))).shape
        TensorShape([2, 3, 8])

    Source: Gorishniy et al. 2022, "On embeddings for numerical features in tabular deep learning", section 3.2.
    """

    def __init__(self, *, width: int, num_bins: int, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.width = width
        self.num_bins = num_bins

    def build(self, input_shape: tuple) -> None:
        self.projection = ColumnProjection(units=self.width, name="projection", dtype=self.dtype_policy)
        self.projection.build((input_shape[0], input_shape[1] // self.num_bins, self.num_bins))

    def call(self, x: Any) -> Any:
        return self.projection(ops.reshape(x, (-1, x.shape[1] // self.num_bins, self.num_bins)))


class PeriodicTokens(keras.layers.Layer):
    """Tokens that are ReLU of a linear map of sines and cosines of the column's number: (B, N) -> (B, N, D).

    Each column has its own learned frequencies c; a number x is encoded as the sines, then the cosines, of 2 pi c x.

    Args:
        width: D.
        num_frequencies: the number of frequencies of a column.
        frequency_scale: the standard deviation with which frequencies are initialized; a larger scale resolves finer
            differences between numbers.

    Example:
        >>> layer = PeriodicTokens(width=8)
        >>> layer(keras.ops.ones((2, 3))).shape
        TensorShape([2, 3, 8])

    Source: Gorishniy et al. 2022, "On embeddings for numerical features in tabular deep learning", section 3.3, "PLR".
    """

    def __init__(self, *, width: int, num_frequencies: int = 24, frequency_scale: float = 0.1, **kwargs: Any):
        super().__init__(autocast=False, **kwargs)
        self.width = width
        self.num_frequencies = num_frequencies
        self.frequency_scale = frequency_scale

    def build(self, input_shape: tuple) -> None:
        self.frequencies = self.add_weight(
            name="frequencies",
            shape=(input_shape[1], self.num_frequencies),
            initializer=keras.initializers.RandomNormal(stddev=self.frequency_scale),
            autocast=False,
        )
        self.projection = ColumnProjection(units=self.width, name="projection", dtype=self.dtype_policy)
        self.projection.build((*input_shape, 2 * self.num_frequencies))

    def call(self, x: Any) -> Any:
        angles = (2 * math.pi) * ops.cast(x, "float32")[..., None] * self.frequencies
        return ops.relu(self.projection(ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)))
