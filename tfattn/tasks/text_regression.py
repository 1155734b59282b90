"""Text regression: a number for a text or a pair of texts, such as how similar both are."""

from typing import Any, Literal

from pydantic import PositiveInt

from tfattn.config.types import Given, Rate
from tfattn.models.contracts.encoder import Encoder
from tfattn.tasks.regression_head import Loss, Range, RegressionHead
from tfattn.tasks.row_task import RowTask
from tfattn.tasks.text_backbone import TextBackbone


class TextRegression(RowTask):
    """Pools an encoder's output into one vector and predicts a number by a linear map of it.

    Args:
        model: the encoder that reads the texts.
        targets: known from the data: `mean` and `deviation` of the training targets.
        encoder: "fine_tune" trains encoder and head; "frozen" computes the encoder's vectors once and trains the head.
        pooling: how a text becomes one vector: "mean" of its tokens, the vector of "cls", or BERT's "pooler" over it.
        pooled_layers: how many of the encoder's topmost layers give such a vector, "all" for each and the embeddings.
        dropout: the part of that vector that is dropped while training.
        loss: "mean_squared_error", "mean_absolute_error", or "huber", which is squared up to one standard deviation of
            the training targets and absolute beyond.
        range: the least and the greatest number that is predicted, such as [0, 5]; null for no bounds.

    Returns:
        as RowTask; `predictions` are those of RegressionHead.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = TextRegression(model=encoder, targets={"mean": 2.5, "deviation": 1.5})
        >>> task.predictions(task({"token_ids": keras.ops.ones((1, 5), "int32")}))["predictions"].shape
        TensorShape([1])
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
        loss: Loss = "mean_squared_error",
        range: Range | None = None,
    ):
        backbone = TextBackbone(model, encoder=encoder, pooling=pooling, pooled_layers=pooled_layers, dropout=dropout)
        head = RegressionHead(width=backbone.width, targets=targets, loss=loss, range=range)
        super().__init__(backbone, head, name="text_regression")
