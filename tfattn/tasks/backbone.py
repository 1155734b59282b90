"""The contract of a backbone: a model whose outputs are reduced to one vector for each row."""

from collections.abc import Sequence
from typing import Any

import keras

from tfattn.features import COLUMN_ATTENTION, ENCODED, ESSENTIAL_FEATURES, POOLED_OUTPUT
from tfattn.layers.dropout import Dropout
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder

# Outputs of a model that explain its predictions.
EXPLANATIONS = (ESSENTIAL_FEATURES, COLUMN_ATTENTION)


class Backbone(keras.layers.Layer):
    """A model whose outputs are reduced to one vector for each row, with dropout.

    Args:
        model: reads the rows.
        width: D, the width of the vector.
        dropout: the fraction of the vector that is dropped in training.
        is_frozen: whether the model is not trained, so that its vectors may be computed once.

    Attributes:
        optional_layers: layers of the model that are not used, and that published weights may lack.
    """

    optional_layers: Sequence[keras.layers.Layer] = ()

    def __init__(self, model: keras.Model, *, width: int, dropout: float, is_frozen: bool = False):
        # No cast to the compute type on entry: models embed numbers in float32, and precomputed vectors are read as
        # stored.
        super().__init__(name="backbone", autocast=False)
        self.model = model
        self.width = width
        self.is_frozen = is_frozen
        self.head_dropout = Dropout(dropout, name="head_dropout", dtype="float32")
        self.head_dropout.build((None, width))
        self.built = True

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """Return `encoded` (B, D) float32, and the explanations of the model."""
        raise NotImplementedError

    def apply_dropout(self, encoded: Any, training: bool = False) -> Any:
        """Apply dropout to the vectors (B, D)."""
        return self.head_dropout(encoded, training=training)

    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards."""
        return [] if self.is_frozen else self.model.depth_groups()


class PooledBackbone(Backbone):
    """A backbone that takes the `pooled_output` of a table or image encoder.

    Args:
        model: reads the rows.
        dropout: the fraction of the vector that is dropped in training.
    """

    def __init__(self, model: TableEncoder | ImageEncoder, *, dropout: float = 0.0):
        super().__init__(model, width=model.hidden_dim, dropout=dropout)
        self._options = {"only_pooled": True} if isinstance(model, ImageEncoder) else {}

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = self.model(features, training=training, **self._options)
        explanations = {name: outputs[name] for name in EXPLANATIONS if name in outputs}
        return {ENCODED: keras.ops.cast(outputs[POOLED_OUTPUT], "float32"), **explanations}
