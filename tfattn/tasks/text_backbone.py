"""One vector of each text or pair of texts, pooled from what an encoder makes of its tokens."""

from typing import Any

from keras import ops

from tfattn.features import ENCODED, PADDING_MASK, POOLED_OUTPUT, SEQUENCE_OUTPUT
from tfattn.layers.dropout import Dropout
from tfattn.models.contracts import Encoder
from tfattn.ops import pooling as pool
from tfattn.tasks.backbone import Backbone


class TextBackbone(Backbone):
    """Pools an encoder's output into one vector.

    Masks: padding changes nothing, whatever the pooling.

    Args:
        model: the encoder that reads the texts.
        encoder: "fine_tune" trains the encoder; "frozen" does not.
        pooling: how a text becomes one vector: "mean" of its tokens, the vector of "cls", or BERT's "pooler" over it.
        dropout: the part of that vector that is dropped while training.

    Source: Devlin et al. 2018, "BERT", section 4.1; mean pooling as in Reimers and Gurevych 2019, "Sentence-BERT".
    """

    def __init__(self, model: Encoder, *, encoder: str, pooling: str, dropout: float):
        # Not cast to the compute type on entry: vectors that were computed before are read as they were stored.
        super().__init__(name="backbone", autocast=False)
        self.model = model
        self.width = model.hidden_dim
        self.is_frozen = encoder == "frozen"
        self.pooling = pooling
        model.trainable = not self.is_frozen
        model.pooler.trainable = pooling == "pooler" and not self.is_frozen
        self.head_dropout = Dropout(dropout, name="head_dropout", dtype="float32")
        self.head_dropout.build((None, self.width))
        self.built = True

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = self.model(features, training=training and not self.is_frozen)
        if self.pooling == "pooler":
            vector = outputs[POOLED_OUTPUT]
        elif self.pooling == "cls":
            vector = pool.first(outputs[SEQUENCE_OUTPUT])
        else:
            vector = pool.mean(outputs[SEQUENCE_OUTPUT], features.get(PADDING_MASK))
        return {ENCODED: ops.cast(vector, "float32")}

    def dropped(self, encoded: Any, training: bool = False) -> Any:
        return self.head_dropout(encoded, training=training)
