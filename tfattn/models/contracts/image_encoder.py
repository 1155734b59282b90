"""The contract of encoders of images."""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.models.contracts.model import Model


class ImageEncoder(Model):
    """A model that reads an image as a grid of tokens and returns a vector of each and one for the image.

    `call(features, training=False)` takes `images` (B, Y, X, 3), float32 from 0 to 1, all of the size that the model
    was made for. It returns `sequence_output` (B, T, D) and `pooled_output` (B, D); a model of several layers may also
    return `hidden_states`, as an Encoder does. An image's outputs do not depend on the other images. With a further
    argument `only_pooled=True` it returns `pooled_output` alone, and need not compute what that does not take.

    The T tokens are first `num_prefix_tokens` that stand for no place, then those of the image, row by row: of the
    token at (row, column) the number is num_prefix_tokens + row columns + column, and it stands for the part of the
    image that lies there in a grid of equal parts. (A convolution sees a little more than its part.)

    Attributes:
        hidden_dim: the width D of all outputs.
        num_layers: how many layers are among `hidden_states`, beside the tokens; 0 where there are none.
        image_size: the side of the images in pixels, or [Y, X] where these differ.
        patch_grid: (rows, columns) of the tokens that are places of the image.
        num_prefix_tokens: 1 where a class token stands before them, else 0.
    """

    hidden_dim: int
    num_layers: int = 0
    image_size: int | list[int]
    patch_grid: tuple[int, int]
    num_prefix_tokens: int

    @abstractmethod
    def pooled_fractions(self, outputs: dict[str, Any]) -> Any:
        """Tell how much each token counts in `pooled_output`, which is their mean weighted so.

        Args:
            outputs: what `call` returns.

        Returns:
            (B, T) float32, which sum to 1.
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards (tokens, block 1, ..., top) for layer-wise rates."""
        raise NotImplementedError
