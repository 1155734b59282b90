"""The base class of tasks with a prediction for each row: a backbone encodes the row, a linear head scores it."""

from collections.abc import Sequence
from typing import Any, Literal

import keras
from keras import ops
from pydantic import PositiveInt

from tfattn.config.types import Given, Rate
from tfattn.errors import ConfigError
from tfattn.features import ENCODED, LOGITS, MEMBER_LOGITS, PREDICTIONS
from tfattn.layers.member_dense import MemberHead
from tfattn.models.contracts.encoder import Encoder
from tfattn.models.contracts.image_encoder import ImageEncoder
from tfattn.models.contracts.table_encoder import TableEncoder
from tfattn.ops.attention_record import AttentionRecord, recording
from tfattn.ops.pooling import mean_by_row
from tfattn.tasks.backbone import EXPLANATIONS, Backbone, PooledBackbone
from tfattn.tasks.task import Task
from tfattn.tasks.text_backbone import TextBackbone

RowEncoder = Encoder | TableEncoder | ImageEncoder
Training = Literal["fine_tune", "frozen"]
Pooling = Literal["mean", "cls", "max", "pooler"]
PooledLayers = PositiveInt | Literal["all"]

TEXT_DROPOUT = 0.1


class RowTask(Task):
    """A backbone that encodes each row as a vector, and a linear head.

    Subclasses implement `loss_weights`, `loss_terms`, `predictions`, `combine`, `statistics` and `metrics_from`; and
    `merge_logits`, for models of several members. Their constructors have the arguments of the backbone, which are
    explained here, and pass them on.

    The head always computes in float32: the cost is negligible, and predictions are not rounded to bfloat16.

    Args:
        model: reads the rows: an encoder of texts, of rows of tables or of images.
        encoder: "fine_tune" trains encoder and head; "frozen" computes the vectors of a text encoder once and trains
            the head.
        pooling: how a text is pooled into a vector: the "mean" or "max" over its tokens, the "cls" vector, or BERT's
            "pooler"; by default the mean.
        pooled_layers: the number of top layers of a text encoder that are pooled, "all" for all layers and the
            embeddings; by default 1.
        dropout: the fraction of the vector that is dropped in training; by default 0.1 for texts and 0 for others.
        units: U, the number of logits of a row.
        name: the name of the task.

    Call arguments:
        features: the inputs of the backbone, or `encoded` (B, D), its precomputed vectors.
        record: records the attention of each layer of a text encoder; the outputs then also have its `hidden_states`.

    Returns:
        a dictionary of `logits` (B, U) float32, `encoded` (B, D) float32, the input of the head, and other outputs of
        the backbone: if the model has them, `essential_features` (B, E) and `column_attention` (B, N + M), float32. For
        a model of K members `encoded` is (B, K, D), `member_logits` (B, K, U) are the logits of the members, and
        `logits` are the logits of their mean prediction.

    Raises:
        ConfigError: an option for texts is given for another model.
    """

    supports_ensemble = True

    def __init__(
        self,
        *,
        model: Given[RowEncoder],
        encoder: Training = "fine_tune",
        pooling: Pooling | None = None,
        pooled_layers: PooledLayers | None = None,
        dropout: Rate | None = None,
        units: int,
        name: str,
    ):
        super().__init__(name=name, autocast=False)
        self.backbone = self.make_backbone(
            model, encoder=encoder, pooling=pooling, pooled_layers=pooled_layers, dropout=dropout
        )
        self.encoder_is_frozen = self.backbone.is_frozen
        members = model.num_members if isinstance(model, TableEncoder) else None
        if members:
            self.head = MemberHead(units=units, name="head", dtype="float32")
            self.head.build((None, members, self.backbone.width))
        else:
            initializer = keras.initializers.TruncatedNormal(stddev=0.02)
            self.head = keras.layers.Dense(units, kernel_initializer=initializer, name="head", dtype="float32")
            self.head.build((None, self.backbone.width))
        self.built = True

    def make_backbone(
        self,
        model: RowEncoder,
        *,
        encoder: Training,
        pooling: Pooling | None,
        pooled_layers: PooledLayers | None,
        dropout: float | None,
    ) -> Backbone:
        """Create the backbone from arguments of the constructor, according to the contract of the model."""
        if isinstance(model, Encoder):
            return TextBackbone(
                model,
                encoder=encoder,
                pooling=pooling or "mean",
                pooled_layers=pooled_layers or 1,
                dropout=TEXT_DROPOUT if dropout is None else dropout,
            )
        text_options = {"encoder": encoder != "fine_tune", "pooling": pooling, "pooled_layers": pooled_layers}
        for key, is_given in text_options.items():
            if is_given:
                raise ConfigError(
                    "the key is for models that read texts",
                    key=key,
                    expected="no such key",
                    received=f"a {type(model).__name__}, which makes one vector of each row by itself",
                )
        return PooledBackbone(model, dropout=dropout or 0.0)

    @property
    def model(self) -> keras.Model:
        """The encoder of the rows."""
        return self.backbone.model

    @property
    def optional_layers(self) -> Sequence[keras.layers.Layer]:
        return self.backbone.optional_layers

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        if ENCODED in features:
            outputs = {ENCODED: features[ENCODED]}
        else:
            outputs = self.backbone.encode(features, training=training, **recording(record))
        logits = self.head(self.backbone.apply_dropout(outputs[ENCODED], training=training))
        if isinstance(self.head, MemberHead):
            return {LOGITS: self.merge_logits(logits), MEMBER_LOGITS: logits, **outputs}
        return {LOGITS: logits, **outputs}

    def merge_logits(self, logits: Any) -> Any:
        """Compute the logits (B, U) of the mean prediction of members, from their logits (B, K, U)."""
        raise NotImplementedError

    def trained_logits(self, outputs: dict[str, Any]) -> Any:
        """Return the logits whose losses are averaged in training, (B, K, U); K is 1 without members."""
        return outputs[MEMBER_LOGITS] if MEMBER_LOGITS in outputs else outputs[LOGITS][:, None]

    def encode(self, features: dict[str, Any], training: bool = False) -> Any:
        return self.backbone.encode(features, training=training)[ENCODED]

    def explanations(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the explanations among the outputs, which predictions include."""
        return {name: outputs[name] for name in EXPLANATIONS if name in outputs}

    def scores_to_explain(self, features: dict[str, Any]) -> Any:
        """Compute the scores of all labels (B, C), or the predicted number (B, 1)."""
        predictions = self.predictions(self(features))
        return predictions["scores"] if "scores" in predictions else predictions[PREDICTIONS][:, None]

    def merge_examples(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Average the predictions for the examples of each row, and choose by the mean."""
        return self.combine([{name: mean_by_row(x, rows, num_rows) for name, x in predictions.items()}])

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.backbone.depth_groups(), self.head.trainable_variables]


def average_predictions(predictions: Sequence[dict[str, Any]], *, exclude: Sequence[str] = ()) -> dict[str, Any]:
    """Average the predictions of several models by name; the predictions of a single model are unchanged.

    Args:
        predictions: tensors or arrays of equal shapes.
        exclude: names to leave out, such as ids, whose mean has no meaning.
    """
    return {
        name: ops.mean(ops.stack([member[name] for member in predictions]), axis=0) if len(predictions) > 1 else value
        for name, value in predictions[0].items()
        if name not in exclude
    }
