"""The base class of tasks with a prediction for each token: an encoder and a linear head."""

from typing import Any

import keras
from keras import ops

from tfattn.features import ENDS, HIDDEN_STATES, LOGITS, MAX_CONTEXT, SEQUENCE_OUTPUT, STARTS, WORD_NUMBERS
from tfattn.layers.dropout import Dropout
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops.attention_record import AttentionRecord, recording
from tfattn.tasks.task import Task

# Features that locate tokens in the text: predictions need them, the encoder does not read them.
TOKEN_LOCATIONS = (STARTS, ENDS, WORD_NUMBERS, MAX_CONTEXT)


class TokenTask(Task):
    """An encoder and a linear head for each token, which computes in float32 independent of the encoder's type.

    Args:
        model: the encoder that reads the texts.
        units: U, the number of logits of a token.
        dropout: the fraction of each vector that is dropped in training.
        name: the name of the task.

    Call arguments:
        features: the inputs of the encoder, and optionally the locations of the tokens.
        record: records the attention of each layer; the outputs then also have the `hidden_states` of the encoder.

    Returns:
        a dictionary of `logits` (B, T, U) float32, and the given locations.
    """

    def __init__(self, model: Encoder, *, units: int, dropout: float, name: str):
        super().__init__(name=name, autocast=False)
        self.model = model
        model.pooler.trainable = False  # unused
        self.head_dropout = Dropout(dropout, name="head_dropout", dtype="float32")
        self.head_dropout.build((None, None, model.hidden_dim))
        initializer = keras.initializers.TruncatedNormal(stddev=0.02)
        self.head = keras.layers.Dense(units, kernel_initializer=initializer, name="head", dtype="float32")
        self.head.build((None, None, model.hidden_dim))
        self.built = True

    @property
    def optional_layers(self) -> list[keras.layers.Layer]:
        return [self.model.pooler]

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        outputs = self.model(features, training=training, **recording(record))
        x = ops.cast(outputs[SEQUENCE_OUTPUT], "float32")
        others = {name: features[name] for name in TOKEN_LOCATIONS if name in features}
        others |= {} if record is None else {HIDDEN_STATES: outputs[HIDDEN_STATES]}
        return {LOGITS: self.head(self.head_dropout(x, training=training)), **others}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.model.depth_groups(), self.head.trainable_variables]
