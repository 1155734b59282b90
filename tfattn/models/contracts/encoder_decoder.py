"""The contract of sequence-to-sequence models."""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.decoding.rows import reorder_rows
from tfattn.models.contracts.model import Model


class EncoderDecoder(Model):
    """A model that reads a source sequence and generates a target sequence, token by token.

    `call(features, training=False)` takes `token_ids` and `padding_mask` (B, S), `target_ids` (B, T) and, where rows
    are padded, `target_padding_mask` (B, T); it returns `logits` (B, T - 1, V) of the next token at each position,
    given the source and the target up to it. In generation `encode` reads the source once, and `step` is called for one
    position after another. Padded positions never change the outputs at real positions.

    Several beams of each source may be generated together: `step` then gets B W rows, the beams of a source next to
    each other, while the memory keeps B rows.

    Attributes:
        vocabulary_size: the number of source token ids.
        target_vocabulary_size: V, the number of target token ids.
        max_sequence_length: the maximum S and T, in tokens.
        aligns: whether its steps return an alignment, the attention weights of the source tokens.
    """

    aligns: bool = True
    vocabulary_size: int
    target_vocabulary_size: int
    max_sequence_length: int

    @abstractmethod
    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """Compute the memory of a source, the inputs of all steps: a dictionary of tensors of B rows."""
        raise NotImplementedError

    @abstractmethod
    def empty_state(self, memory: dict[str, Any], max_length: int, num_beams: int = 1) -> Any:
        """Return the state before the first step, a nested structure of tensors.

        Steps keep its structure, shapes and types. The state has W = `num_beams` beams for each source, and room for
        `max_length` positions. With a `max_length` of 0 the axes of positions have length 0, and the decoding loop
        extends them with zeros; no other axis of a state has length 0.
        """
        raise NotImplementedError

    def reorder(self, state: Any, beams: Any) -> Any:
        """Give each beam the state of the beam of the same source that it continues.

        By default the rows of the state's tensors, B W each, are reordered.

        Args:
            state: the state of the last step.
            beams: (B, W) int, 0 to W - 1, the beam that each beam continues.

        Returns:
            the reordered state.
        """
        return reorder_rows(state, beams)

    @abstractmethod
    def step(self, token_ids: Any, index: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        """Read the token of one position and compute the logits of the next.

        Args:
            token_ids: (B W,) int.
            index: the position, a scalar; 0 is the position of the start token.
            memory: the result of `encode`, B rows.
            state: the state of the last step or of `reorder`.

        Returns:
            the logits of the next token (B W, V) float32; the new state; and the alignment (B W, S) float32, attention
            weights of the source tokens that sum to 1, or None if the model has no attention.
        """
        raise NotImplementedError

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards for layer-wise rates."""
        raise NotImplementedError
