"""The contract of encoders of table rows."""

from abc import abstractmethod

import keras

from tfattn.models.contracts.model import Model


class TableEncoder(Model):
    """A model that reads the columns of a table's row and returns one vector for the row, or one of each member.

    `call(features, training=False)` takes, as the model needs them, `numeric` (B, N), `piecewise` (B, N Q), `missing`
    (B, N) and `category_ids` (B, M); it returns `pooled_output` (B, D), or (B, K, D) of an ensemble of K members in one
    model, and, where the model has them, explanations:
    `essential_features` (B, E), the few numbers that determine the output, and `column_attention` (B, N + M), the
    attention to each column, which sums to 1. The outputs of a row do not depend on other rows.

    Attributes:
        hidden_dim: the width D of `pooled_output`.
        num_members: K; None for a single vector of each row.
    """

    hidden_dim: int
    num_members: int | None = None

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards (tokens, block 1, ..., top) for layer-wise rates."""
        raise NotImplementedError
