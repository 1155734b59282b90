"""The base of tasks that predict something of each row: a backbone makes a vector of it, a linear head scores that."""

from collections.abc import Sequence
from typing import Any, Literal

import keras
from keras import ops

from tfattn.errors import ConfigError
from tfattn.features import ENCODED, LOGITS, PREDICTIONS
from tfattn.models.contracts.encoder import Encoder
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.ops.segments import mean_by_row
from tfattn.tasks.backbone import EXPLANATIONS, Backbone, PooledBackbone
from tfattn.tasks.task import Task
from tfattn.tasks.text_backbone import TextBackbone

RowEncoder = Encoder | TableEncoder | ImageEncoder
Training = Literal["fine_tune", "frozen"]
Pooling = Literal["mean", "cls", "pooler"]
PooledLayers = int | Literal["all"]

TEXT_DROPOUT = 0.1


class RowTask(Task):
    """A backbone that makes a vector of each row, and a linear map of the vector.

    Subclass it and say what is predicted of the U logits: `loss_weights`, `loss_terms`, `predictions`, `combined`,
    `statistics` and `metrics_from`.

    The head computes in float32 always: that costs nothing, and predictions are not rounded to bfloat16.

    Args:
        backbone: makes a vector of each row.
        units: U, the number of logits of a row.
        name: of the task.

    Call arguments:
        features: what the backbone reads, or `encoded` (B, D), its vectors computed before.

    Returns:
        a dictionary of `logits` (B, U) float32, `encoded` (B, D) float32, what the head reads, and other outputs of
        the backbone: where the model has them, `essential_features` (B, E) and `column_attention` (B, N + M), float32.
    """

    predicts_together = True

    def __init__(self, backbone: Backbone, *, units: int, name: str):
        super().__init__(name=name, autocast=False)
        self.backbone = backbone
        self.encoder_is_frozen = backbone.is_frozen
        initializer = keras.initializers.TruncatedNormal(stddev=0.02)
        self.head = keras.layers.Dense(units, kernel_initializer=initializer, name="head", dtype="float32")
        self.head.build((None, backbone.width))
        self.built = True

    @property
    def model(self) -> keras.Model:
        """The encoder of the rows."""
        return self.backbone.model

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        is_known = ENCODED in features
        outputs = {ENCODED: features[ENCODED]} if is_known else self.backbone.encode(features, training=training)
        return {LOGITS: self.head(self.backbone.dropped(outputs[ENCODED], training=training)), **outputs}

    def encode(self, features: dict[str, Any], training: bool = False) -> Any:
        return self.backbone.encode(features, training=training)[ENCODED]

    def explanations(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the explanations among the outputs, which are part of the predictions."""
        return {name: outputs[name] for name in EXPLANATIONS if name in outputs}

    def scores_of(self, features: dict[str, Any]) -> Any:
        """Compute the scores of all labels; of a number, the number alone."""
        predictions = self.predictions(self(features))
        return predictions["scores"] if "scores" in predictions else predictions[PREDICTIONS][:, None]

    def gathered(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Average the predictions for the examples of each row, and decide by the mean."""
        return self.combined([{name: mean_by_row(x, rows, num_rows) for name, x in predictions.items()}])

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.backbone.depth_groups(), self.head.trainable_variables]


def backbone_of(
    model: RowEncoder,
    *,
    encoder: Training = "fine_tune",
    pooling: Pooling | None = None,
    pooled_layers: PooledLayers | None = None,
    dropout: float | None = None,
) -> Backbone:
    """Make the backbone for a model, by the contract of the model.

    Args:
        model: an encoder of texts, of rows of tables or of images.
        encoder: whether a text encoder is trained, or "frozen".
        pooling, pooled_layers: how a text becomes one vector; "mean" and 1 by default.
        dropout: of the vector; by default 0.1 for texts and 0 for others.

    Raises:
        ConfigError: an option of texts is given for another model.
    """
    if isinstance(model, Encoder):
        return TextBackbone(
            model,
            encoder=encoder,
            pooling=pooling or "mean",
            pooled_layers=pooled_layers or 1,
            dropout=TEXT_DROPOUT if dropout is None else dropout,
        )
    of_texts = {"encoder": encoder != "fine_tune", "pooling": pooling, "pooled_layers": pooled_layers}
    for key, is_given in of_texts.items():
        if is_given:
            raise ConfigError(
                "the key is for models that read texts",
                key=key,
                expected="no such key",
                received=f"a {type(model).__name__}, which makes one vector of each row by itself",
            )
    return PooledBackbone(model, dropout=dropout or 0.0)


def mean_of(predictions: Sequence[dict[str, Any]], *, but: Sequence[str] = ()) -> dict[str, Any]:
    """Average the predictions of several models, name by name; those of one model stay as they are.

    Args:
        predictions: tensors or arrays of equal shapes.
        but: names that are left out, because a mean has no meaning for them.
    """
    return {
        name: ops.mean(ops.stack([one[name] for one in predictions]), axis=0) if len(predictions) > 1 else value
        for name, value in predictions[0].items()
        if name not in but
    }
