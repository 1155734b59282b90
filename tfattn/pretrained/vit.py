"""The base class of published Vision Transformers, with interpolation of position embeddings."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tfattn.pretrained.contract import Pretrained

if TYPE_CHECKING:
    import keras

CLASS_TOKEN, POSITIONS = "class_token/vector", "positions/position/embeddings"
# As in PyTorch and OpenCV; with antialiasing as in PyTorch and Pillow.
CUBIC_COEFFICIENT, ANTIALIASED_COEFFICIENT = -0.75, -0.5


class PublishedVit(Pretrained):
    """A folder of a published Vision Transformer with a class token.

    Poolers and classifiers are not loaded: the vector of an image is the output of the class token. Position embeddings
    are interpolated for a model with another image size.

    Attributes:
        antialiases: whether a smaller grid of positions is antialiased.
    """

    model = "vit"
    preprocessor = "images"
    antialiases = False

    def tokenization(self) -> dict[str, Any]:
        return {}

    def adapt(self, values: dict[str, list[np.ndarray]], model: "keras.Model") -> dict[str, list[np.ndarray]]:
        side, patch = (self.sizes()[name] for name in ("image_size", "patch_size"))
        height, width = (side, side) if isinstance(side, int) else side
        grid, (table,) = (height // patch, width // patch), values[POSITIONS]
        count = model.num_positioned_prefix_tokens
        if grid == model.patch_grid or len(table) != count + grid[0] * grid[1]:
            return values
        positions = resize_grid(table[count:], grid, model.patch_grid, antialiases=self.antialiases)
        return {**values, POSITIONS: [np.concatenate([table[:count], positions])]}


def resize_grid(
    vectors: np.ndarray, grid: tuple[int, int], new: tuple[int, int], *, antialiases: bool = False
) -> np.ndarray:
    """Resize a grid of vectors by bicubic interpolation; vectors at the edge are repeated outside.

    Args:
        vectors: (rows * columns, D), row by row.
        grid: the rows and columns.
        new: the rows and columns of the result.
        antialiases: whether a vector of a smaller grid is a mean over a wider area, cut at the edge.

    Returns:
        (new rows * new columns, D) float32.

    Example:
        >>> resize_grid(np.ones((6, 4), "float32"), (2, 3), (4, 6)).shape
        (24, 4)

    Source: Keys 1981, "Cubic convolution interpolation for digital image processing", eq. 4, with another coefficient.
    """
    table = vectors.reshape(*grid, -1).astype("float64")
    weights = _antialiased_weights if antialiases else _weights
    rows, columns = (weights(old, target) for old, target in zip(grid, new, strict=True))
    found = np.einsum("ar,bc,rcd->abd", rows, columns, table)
    return found.reshape(-1, vectors.shape[-1]).astype("float32")


def _weights(old: int, new: int) -> np.ndarray:
    """Compute the weights of old positions at new positions, (new, old); rows sum to 1."""
    positions = (np.arange(new) + 0.5) * old / new - 0.5
    weights = np.zeros((new, old))
    for step in range(-1, 3):
        index = np.floor(positions).astype(int) + step
        np.add.at(weights, (np.arange(new), np.clip(index, 0, old - 1)), _cubic(np.abs(positions - index)))
    return weights


def _antialiased_weights(old: int, new: int) -> np.ndarray:
    """Compute the weights of old positions at new positions, (new, old), with a kernel as wide as a new position."""
    scale = max(old / new, 1.0)
    centers = (np.arange(new) + 0.5) * old / new
    distances = np.abs(np.arange(old) + 0.5 - centers[:, None]) / scale
    weights = _cubic(distances, ANTIALIASED_COEFFICIENT)
    return weights / weights.sum(axis=1, keepdims=True)


def _cubic(distance: np.ndarray, coefficient: float = CUBIC_COEFFICIENT) -> np.ndarray:
    a, x = coefficient, distance
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))
