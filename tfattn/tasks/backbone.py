"""The contract of a backbone: what makes one vector of each row, for a head to read."""

from typing import Any

import keras

from tfattn.features import COLUMN_ATTENTION, ENCODED, ESSENTIAL_FEATURES, POOLED_OUTPUT
from tfattn.layers.dropout import Dropout
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder

# What a model may say about how it came to its prediction.
EXPLANATIONS = (ESSENTIAL_FEATURES, COLUMN_ATTENTION)


class Backbone(keras.layers.Layer):
    """A model and the vector that is made of its outputs.

    Attributes:
        model: what reads the rows.
        width: D, of the vector.
        is_frozen: whether the model is not trained, so that its vectors may be computed once.
    """

    model: keras.Model
    width: int
    is_frozen: bool = False

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """Return `encoded` (B, D) float32, and what the model says of how it came to it."""
        raise NotImplementedError

    def dropped(self, encoded: Any, training: bool = False) -> Any:
        """Return the vectors as a head reads them, which drops a part of them while training, if it is to."""
        return encoded

    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables, grouped from the input upwards."""
        return [] if self.is_frozen else self.model.depth_groups()


class TableBackbone(Backbone):
    """The vector that a model makes of each row of a table.

    Args:
        model: what reads the rows.
    """

    def __init__(self, model: TableEncoder):
        # Not cast to the compute type on entry: the model embeds numbers in float32.
        super().__init__(name="backbone", autocast=False)
        self.model = model
        self.width = model.hidden_dim
        self.built = True

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = self.model(features, training=training)
        explanations = {name: outputs[name] for name in EXPLANATIONS if name in outputs}
        return {ENCODED: keras.ops.cast(outputs[POOLED_OUTPUT], "float32"), **explanations}


class ImageBackbone(Backbone):
    """The vector that a model makes of each image.

    Args:
        model: what reads the images.
        dropout: the part of that vector that is dropped while training.
    """

    def __init__(self, model: ImageEncoder, *, dropout: float):
        super().__init__(name="backbone", autocast=False)
        self.model = model
        self.width = model.hidden_dim
        self.head_dropout = Dropout(dropout, name="head_dropout", dtype="float32")
        self.head_dropout.build((None, self.width))
        self.built = True

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = self.model(features, training=training, only_pooled=True)
        return {ENCODED: keras.ops.cast(outputs[POOLED_OUTPUT], "float32")}

    def dropped(self, encoded: Any, training: bool = False) -> Any:
        return self.head_dropout(encoded, training=training)
