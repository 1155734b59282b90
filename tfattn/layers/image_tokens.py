"""Tokens of images: patches or convolutions."""

from typing import Any

import keras
from keras import ops

from tfattn.layers.projection import Projection


class PatchTokens(keras.layers.Layer):
    """A token for each patch, a linear map of its pixels: (B, Y, X, C) -> (B, T, D).

    The patches are the rows of one matrix, so that the map and its gradient are single products. A strided convolution
    computes the same.

    Args:
        width: D.
        patch_size: P, the side of a patch in pixels, a divisor of Y and X.
        initializer_range: the standard deviation of the kernel's truncated normal distribution.

    Example:
        >>> layer = PatchTokens(width=8, patch_size=4)
        >>> layer(ops.ones((1, 8, 12, 3))).shape
        TensorShape([1, 6, 8])

    Source: Dosovitskiy et al. 2021, "An image is worth 16 x 16 words", section 3.1.
    """

    def __init__(self, *, width: int, patch_size: int, initializer_range: float = 0.02, **kwargs: Any):
        super().__init__(**kwargs)
        self.width = width
        self.patch_size = patch_size
        self.initializer_range = initializer_range

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Return the rows and columns of tokens of an image of the given size in pixels."""
        return height // self.patch_size, width // self.patch_size

    def build(self, input_shape: tuple) -> None:
        self.projection = Projection(
            units=self.width, initializer_range=self.initializer_range, name="projection", dtype=self.dtype_policy
        )
        self.projection.build((None, None, self.patch_size**2 * input_shape[-1]))
        self.projection.kernel.maps = ()  # an input layer, which Muon must not treat as a hidden matrix

    def call(self, images: Any) -> Any:
        side, channels = self.patch_size, images.shape[-1]
        rows, columns = self.grid(*images.shape[1:3])
        patches = ops.reshape(images, (-1, rows, side, columns, side * channels))
        patches = ops.transpose(patches, (0, 1, 3, 2, 4))  # (B, rows, columns, P, P C)
        return self.projection(ops.reshape(patches, (-1, rows * columns, side * side * channels)))


class RegisterTokens(keras.layers.Layer):
    """Learned vectors, prepended to the tokens of an image: (B, T, D) -> (B, count + T, D).

    They have no position, and their outputs are not used. A large model stores global information in them, which it
    would otherwise store in the tokens of uniform patches.

    Args:
        count: the number of vectors.
        initializer_range: the standard deviation of the vectors' truncated normal distribution.

    Example:
        >>> layer = RegisterTokens(count=4)
        >>> layer(ops.ones((2, 3, 8))).shape
        TensorShape([2, 7, 8])

    Source: Darcet et al. 2024, "Vision Transformers need registers".
    """

    def __init__(self, *, count: int, initializer_range: float = 0.02, **kwargs: Any):
        super().__init__(**kwargs)
        self.count = count
        self.initializer_range = initializer_range

    def build(self, input_shape: tuple) -> None:
        initializer = keras.initializers.TruncatedNormal(stddev=self.initializer_range)
        self.vectors = self.add_weight(name="vectors", shape=(self.count, input_shape[-1]), initializer=initializer)

    def call(self, tokens: Any) -> Any:
        shape = (ops.shape(tokens)[0], *self.vectors.shape)
        return ops.concatenate([ops.broadcast_to(ops.cast(self.vectors, tokens.dtype), shape), tokens], axis=1)


class ConvolutionalTokens(keras.layers.Layer):
    """A convolutional tokenizer: (B, Y, X, C) -> (B, T, D).

    Each convolution is followed by a ReLU and by 3 x 3 maximum pooling with a stride of 2: a token represents a square
    of 2^N pixels, N being the number of convolutions.

    Args:
        width: D.
        num_convolutions: N.
        kernel_size: the side of a convolution's window.
        inner_width: the number of channels between convolutions.

    Example:
        >>> layer = ConvolutionalTokens(width=8, num_convolutions=2)
        >>> layer(ops.ones((1, 8, 12, 3))).shape
        TensorShape([1, 6, 8])

    Source: Hassani et al. 2021, "Escaping the big data paradigm with compact Transformers", section 3.3.
    """

    def __init__(
        self, *, width: int, num_convolutions: int = 1, kernel_size: int = 3, inner_width: int = 64, **kwargs: Any
    ):
        super().__init__(**kwargs)
        self.width = width
        self.num_convolutions = num_convolutions
        self.kernel_size = kernel_size
        self.inner_width = inner_width

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Return the rows and columns of tokens of an image of the given size in pixels."""
        step = 2**self.num_convolutions
        return -(-height // step), -(-width // step)

    def build(self, input_shape: tuple) -> None:
        widths = [input_shape[-1], *[self.inner_width] * (self.num_convolutions - 1), self.width]
        self.kernels = [
            self.add_weight(
                name=f"kernel_{index}",
                shape=(self.kernel_size, self.kernel_size, widths[index], widths[index + 1]),
                initializer="he_normal",
            )
            for index in range(self.num_convolutions)
        ]

    def call(self, images: Any) -> Any:
        x = images
        for kernel in self.kernels:
            # ReLU after the pooling is the same as before it, at a quarter of the cost.
            x = ops.conv(x, kernel, padding="same")
            x = ops.relu(ops.max_pool(x, 3, strides=2, padding="same"))
        rows, columns = self.grid(*images.shape[1:3])
        return ops.reshape(x, (-1, rows * columns, self.width))
