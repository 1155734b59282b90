"""Multiple choice: which of several texts fits a context."""

from typing import Literal

from pydantic import PositiveInt

from tfattn.config.types import Given, Rate
from tfattn.models.contracts.encoder import Encoder
from tfattn.tasks.choice_head import ChoiceHead
from tfattn.tasks.row_task import RowTask
from tfattn.tasks.several_texts_backbone import SeveralTextsBackbone


class MultipleChoice(RowTask):
    """Scores each choice with its context by a linear map of its pooled vector, and compares those of a row.

    Args:
        model: the encoder that reads a context with a choice.
        encoder: "fine_tune" trains encoder and head, "frozen" the head alone.
        pooling: how a text becomes one vector: "mean" of its tokens, the vector of "cls", or BERT's "pooler" over it.
        pooled_layers: how many of the encoder's topmost layers give such a vector, "all" for each and the embeddings.
        dropout: the part of that vector that is dropped while training.

    Call arguments:
        features: as of SeveralTextsBackbone.

    Returns:
        a dictionary of `logits` (B, N, 1) float32, `encoded` (B, N, D) float32 and `choice_mask` (B, N) bool;
        `predictions` are those of ChoiceHead.

    Example:
        >>> import keras
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> task = MultipleChoice(model=encoder)
        >>> task.predictions(task({"token_ids": keras.ops.ones((1, 4, 5), "int32")}))["scores"].shape
        TensorShape([1, 4])

    Source: Devlin et al. 2018, "BERT", section 4.4.
    """

    def __init__(
        self,
        *,
        model: Given[Encoder],
        encoder: Literal["fine_tune", "frozen"] = "fine_tune",
        pooling: Literal["mean", "cls", "pooler"] = "mean",
        pooled_layers: PositiveInt | Literal["all"] = 1,
        dropout: Rate = 0.1,
    ):
        backbone = SeveralTextsBackbone(
            model, encoder=encoder, pooling=pooling, pooled_layers=pooled_layers, dropout=dropout
        )
        super().__init__(backbone, ChoiceHead(width=backbone.width), name="multiple_choice")
        self.encoder_is_frozen = False  # what is cached of an encoder is one vector of each row
