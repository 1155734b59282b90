"""Text classification: one label for a text or a pair of texts."""

from typing import Any, Literal

from pydantic import PositiveFloat, PositiveInt

from tfattn.config.types import Fraction, Given, Rate
from tfattn.models.contracts.encoder import Encoder
from tfattn.tasks.multi_class_head import MultiClassHead
from tfattn.tasks.row_task import RowTask
from tfattn.tasks.text_backbone import TextBackbone


class TextClassification(RowTask):
    """Pools an encoder's output into one vector and tells classes apart by a linear map of it.

    Args:
        model: the encoder that reads the texts.
        targets: known from the data: the C `labels` in the order of their ids, None until they are read, and `counts`,
            the training rows of each.
        encoder: "fine_tune" trains encoder and head; "frozen" computes the encoder's vectors once and trains the head.
        pooling: how a text becomes one vector: "mean" of its tokens, the vector of "cls", or BERT's "pooler" over it.
        pooled_layers: how many of the encoder's topmost layers give such a vector, "all" for each and the embeddings.
        dropout: the part of that vector that is dropped while training.
        class_weights: how much a row counts in the loss, by its label: "balanced" lets every label count the same in
            total, a table such as {Leak: 2.0} gives the weight of some labels (others weigh 1).
        label_smoothing: the part of each target that is spread evenly over all labels.

    Returns:
        as RowTask; `predictions` are those of MultiClassHead.

    Raises:
        ConfigError: class_weights names a label that the data do not have.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = TextClassification(model=encoder, targets={"labels": ["a", "b", "c"], "counts": [5, 3, 2]})
        >>> task.predictions(task({"token_ids": keras.ops.ones((1, 5), "int32")}))["scores"].shape
        TensorShape([1, 3])
    """

    def __init__(
        self,
        *,
        model: Given[Encoder],
        targets: Given[dict[str, Any]],
        encoder: Literal["fine_tune", "frozen"] = "fine_tune",
        pooling: Literal["mean", "cls", "pooler"] = "mean",
        pooled_layers: PositiveInt | Literal["all"] = 1,
        dropout: Rate = 0.1,
        class_weights: Literal["balanced"] | dict[str, PositiveFloat] | None = None,
        label_smoothing: Fraction = 0.0,
    ):
        backbone = TextBackbone(model, encoder=encoder, pooling=pooling, pooled_layers=pooled_layers, dropout=dropout)
        head = MultiClassHead(
            width=backbone.width, targets=targets, class_weights=class_weights, label_smoothing=label_smoothing
        )
        super().__init__(backbone, head, name="text_classification")
