"""A task that predicts something of each token: an encoder, and a linear map of each of its vectors."""

from typing import Any

import keras
from keras import ops

from tfattn.features import ENDS, LOGITS, MAX_CONTEXT, SEQUENCE_OUTPUT, STARTS, WORD_NUMBERS
from tfattn.layers.dropout import Dropout
from tfattn.models.contracts.encoder import Encoder
from tfattn.tasks.task import Task

# What a preprocessor says of where tokens stand, which predictions need and the encoder does not read.
PLACES = (STARTS, ENDS, WORD_NUMBERS, MAX_CONTEXT)


class TokenTask(Task):
    """Maps an encoder's vector of each token to U numbers, in float32 whatever the encoder computes in.

    Args:
        model: the encoder that reads the texts.
        units: U.
        dropout: the part of each vector that is dropped while training.
        name: of the task.

    Call arguments:
        features: what the encoder reads, and where given the places of its tokens.

    Returns:
        a dictionary of `logits` (B, T, U) float32, and the places as they were given.
    """

    def __init__(self, model: Encoder, *, units: int, dropout: float, name: str):
        super().__init__(name=name, autocast=False)
        self.model = model
        model.pooler.trainable = False  # nobody reads it
        self.head_dropout = Dropout(dropout, name="head_dropout", dtype="float32")
        self.head_dropout.build((None, None, model.hidden_dim))
        initializer = keras.initializers.TruncatedNormal(stddev=0.02)
        self.head = keras.layers.Dense(units, kernel_initializer=initializer, name="head", dtype="float32")
        self.head.build((None, None, model.hidden_dim))
        self.built = True

    @property
    def optional_layers(self) -> list[keras.layers.Layer]:
        return [self.model.pooler]

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        x = ops.cast(self.model(features, training=training)[SEQUENCE_OUTPUT], "float32")
        places = {name: features[name] for name in PLACES if name in features}
        return {LOGITS: self.head(self.head_dropout(x, training=training)), **places}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.model.depth_groups(), self.head.trainable_variables]
