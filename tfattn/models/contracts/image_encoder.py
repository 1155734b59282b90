"""The contract of encoders of images."""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.models.contracts.model import Model


class ImageEncoder(Model):
    """A model that reads an image as a grid of tokens and returns a vector for each token and for the image.

    `call(features, training=False)` takes `images` (B, Y, X, 3), float32 from 0 to 1, of the model's image size. It
    returns `sequence_output` (B, T, D) and `pooled_output` (B, D); a model of several layers may also return
    `hidden_states`, as an Encoder. The outputs of an image do not depend on other images. With the argument
    `only_pooled=True` it returns `pooled_output` alone, and may skip other computations.

    The first `num_prefix_tokens` of the T tokens have no position in the image. The other tokens are the parts of a
    regular grid, row by row: the index of the part at (row, column) is num_prefix_tokens + row * columns + column. (A
    convolution also sees a margin around the part.)

    Attributes:
        hidden_dim: the width D of all outputs.
        num_layers: the number of layers in `hidden_states`, without the tokens; 0 without `hidden_states`.
        image_size: the side of the images in pixels, or [Y, X] where these differ.
        patch_grid: (rows, columns) of the grid of tokens.
        num_prefix_tokens: the number of tokens before the grid, such as a class token.
    """

    hidden_dim: int
    num_layers: int = 0
    image_size: int | list[int]
    patch_grid: tuple[int, int]
    num_prefix_tokens: int

    @abstractmethod
    def pooled_fractions(self, outputs: dict[str, Any]) -> Any:
        """Compute the weight of each token in `pooled_output`, a weighted mean of the tokens.

        Args:
            outputs: the outputs of `call`.

        Returns:
            (B, T) float32, which sum to 1.
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards (tokens, block 1, ..., top) for layer-wise rates."""
        raise NotImplementedError
