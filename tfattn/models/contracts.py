"""What a task may ask of a model: the capability, not the architecture.

Before a task is built on a model, config/build.py sees that the model has every attribute that its contract declares,
and every method that is abstract here.
"""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.decoding.rows import in_order


class Encoder(keras.Model):
    """Reads a whole sequence and answers a vector per position and one for all of it.

    `call(features, training=False)` takes `token_ids` (B, T), `padding_mask` (B, T) and, where the model has them,
    `segment_ids` (B, T); it returns `sequence_output` (B, T, D) and `pooled_output` (B, D). A model of several layers
    may also return `hidden_states`, a list of what the embeddings and each layer give, (B, T, D) each, the last of
    which is `sequence_output`. What stands at padded positions changes nothing at real ones.

    Attributes:
        hidden_dim: the width D of all outputs.
        num_layers: how many layers are among `hidden_states`, beside the embeddings; 0 where there are none.
        max_sequence_length: the longest T it takes.
        pooler: the layer that makes `pooled_output`; a task that does not read it freezes it.
    """

    hidden_dim: int
    num_layers: int = 0
    max_sequence_length: int
    pooler: keras.layers.Layer

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables from the input upwards (embeddings, block 1, ..., top), for layer-wise rates."""
        raise NotImplementedError


class TableEncoder(keras.Model):
    """Reads the columns of a table's row and answers one vector for all of them.

    `call(features, training=False)` takes, as the model needs them, `numeric` (B, N), `piecewise` (B, N Q), `missing`
    (B, N) and `category_ids` (B, M); it returns `pooled_output` (B, D) and, where the model has them, what explains it:
    `essential_features` (B, E), the few numbers that alone decide, and `column_attention` (B, N + M), how much each
    column counts, which sums to 1. A row's answer does not depend on the other rows.

    Attributes:
        hidden_dim: the width D of `pooled_output`.
    """

    hidden_dim: int

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables from the input upwards (tokens, block 1, ..., top), for layer-wise rates."""
        raise NotImplementedError


class EncoderDecoder(keras.Model):
    """Reads a source sequence and writes a target sequence, token after token.

    `call(features, training=False)` takes `token_ids` and `padding_mask` (B, S), `target_ids` (B, T) and, where rows
    are padded, `target_padding_mask` (B, T); it returns `logits` (B, T - 1, V): at each position, given the source and
    the target so far, those of the token after it. To write, `encode` reads the source once, and `step` is called for
    one position after another. What stands at padded positions changes nothing at real ones.

    Several continuations of each source may be written side by side (beams): `step` then gets B W rows, those of a
    source next to each other, while the memory keeps B rows.

    Attributes:
        vocabulary_size: how many token ids sources have.
        target_vocabulary_size: V, how many token ids targets have.
        max_sequence_length: the longest S and T it takes.
        aligns: whether its steps say how much each source token counts.
    """

    aligns: bool = True
    vocabulary_size: int
    target_vocabulary_size: int
    max_sequence_length: int

    @abstractmethod
    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """The memory of a source: all that steps need of it, tensors of B rows."""
        raise NotImplementedError

    @abstractmethod
    def empty_state(self, memory: dict[str, Any], max_length: int, num_beams: int = 1) -> Any:
        """What is known before the first step: a nested structure of tensors.

        Steps keep its structure, shapes and types. It is of W = `num_beams` continuations of each source, and has room
        for `max_length` positions. If that is 0, what needs room has axes of length 0, which whoever writes makes
        longer with zeros; no other axis of a state is ever of length 0.
        """
        raise NotImplementedError

    def follow(self, state: Any, beams: Any) -> Any:
        """The state of continuations each of which goes on from another one, or from itself, of the same source.

        By default rows are put in their new order, of a state whose tensors have B W rows.

        Args:
            state: as a step left it.
            beams: (B, W) int, 0 to W - 1, from which each goes on.
        """
        return in_order(state, beams)

    @abstractmethod
    def step(self, token_ids: Any, index: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        """Reads the token of one position.

        Args:
            token_ids: (B W,) int.
            index: the position, a scalar; 0 is that of the start.
            memory: of `encode`, B rows.
            state: as the step before or `follow` left it.

        Returns:
            the logits of the next token (B W, V) float32; the new state; and the alignment (B W, S) float32, how much
            each source token counts, rows that sum to 1, or None if the model attends to none.
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables from the input upwards, for layer-wise rates."""
        raise NotImplementedError
