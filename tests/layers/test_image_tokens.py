"""Tokens of images: equal to strided convolutions, and to convolutions with max pooling by hand."""

import keras
import numpy as np
import pytest

from tfattn.layers.image_tokens import ConvolutionalTokens, PatchTokens

IMAGES = np.random.default_rng(0).normal(size=(2, 8, 12, 3)).astype("float32")


@pytest.mark.every_backend
def test_patches_are_a_strided_convolution():
    layer = PatchTokens(width=5, patch_size=4, initializer_range=0.5)
    answer = keras.ops.convert_to_numpy(layer(IMAGES))
    kernel = keras.ops.reshape(layer.projection.kernel, (4, 4, 3, 5))
    expected = keras.ops.convert_to_numpy(keras.ops.conv(IMAGES, kernel, strides=4, padding="valid"))
    np.testing.assert_allclose(answer, expected.reshape(2, 6, 5), atol=1e-5)


@pytest.mark.every_backend
def test_convolutions_by_hand():
    layer = ConvolutionalTokens(width=5)
    answer = keras.ops.convert_to_numpy(layer(IMAGES)).reshape(2, 4, 6, 5)
    kernel = keras.ops.convert_to_numpy(layer.kernels[0])
    padded = np.pad(IMAGES, ((0, 0), (1, 1), (1, 1), (0, 0)))
    shifted = [(padded[:, y : y + 8, x : x + 12], kernel[y, x]) for y in range(3) for x in range(3)]
    seen = np.maximum(sum(pixels @ weights for pixels, weights in shifted), 0)
    for row, column in ((0, 0), (2, 3), (3, 5)):
        window = seen[:, 2 * row : 2 * row + 3, 2 * column : 2 * column + 3]
        np.testing.assert_allclose(answer[:, row, column], window.max(axis=(1, 2)), atol=1e-4)


@pytest.mark.parametrize(("num_convolutions", "grid"), [(1, (4, 6)), (2, (2, 3)), (3, (1, 2))])
def test_the_grid_is_that_of_its_tokens(num_convolutions, grid):
    layer = ConvolutionalTokens(width=5, num_convolutions=num_convolutions)
    assert layer.grid(8, 12) == grid
    assert layer(IMAGES).shape == (2, grid[0] * grid[1], 5)
