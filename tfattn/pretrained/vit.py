"""What formats of a published Vision Transformer have in common: images are read, and positions can be interpolated."""

from typing import TYPE_CHECKING, Any

import numpy as np

from tfattn.pretrained.contract import Pretrained
from tfattn.pretrained.grids import resampled

if TYPE_CHECKING:
    import keras

CLASS_TOKEN, POSITIONS = "class_token/vector", "positions/position/embeddings"


class PublishedVit(Pretrained):
    """A folder of a published Vision Transformer with a class token.

    Poolers and classifiers are left out: the model's vector of an image is that of the class token, as classifiers read
    it. A model for images of another size gets position vectors between those of the file.
    """

    model = "vit"
    preprocessor = "images"

    def tokenization(self) -> dict[str, Any]:
        return {}

    def adapted(self, values: dict[str, list[np.ndarray]], model: "keras.Model") -> dict[str, list[np.ndarray]]:
        side, patch = (self.sizes()[name] for name in ("image_size", "patch_size"))
        height, width = (side, side) if isinstance(side, int) else side
        grid, (table,) = (height // patch, width // patch), values[POSITIONS]
        if grid == model.patch_grid or len(table) != 1 + grid[0] * grid[1]:
            return values
        places = resampled(table[1:], grid, model.patch_grid)
        return {**values, POSITIONS: [np.concatenate([table[:1], places])]}
