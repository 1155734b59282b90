"""The contracts of encoders of texts."""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.layers.embeddings import EmbeddingTable
from tfattn.models.contracts.model import Model


class Encoder(Model):
    """A model that reads a whole sequence and returns a vector per position and one for the sequence.

    `call(features, training=False)` takes `token_ids` (B, T), `padding_mask` (B, T) and, where the model has them,
    `segment_ids` (B, T); it returns `sequence_output` (B, T, D) and `pooled_output` (B, D). A model of several layers
    may also return `hidden_states`, a list of what the embeddings and each layer give, (B, T, D) each, the last of
    which is `sequence_output`. What stands at padded positions changes nothing at real ones.

    Attributes:
        hidden_dim: the width D of all outputs.
        num_layers: how many layers are among `hidden_states`, beside the embeddings; 0 where there are none.
        max_sequence_length: the longest T that it takes, in tokens.
        reads_spelling: whether it reads `character_ids` (B, T, 50) too.
        pooler: the layer that makes `pooled_output`; a task that does not read it freezes it.
    """

    hidden_dim: int
    num_layers: int = 0
    max_sequence_length: int
    reads_spelling: bool = False
    pooler: keras.layers.Layer

    @abstractmethod
    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards (embeddings, block 1, ..., top) for layer-wise rates."""
        raise NotImplementedError


class PretrainableEncoder(Encoder):
    """An Encoder that can be taught to fill in hidden tokens.

    `call` also takes, where texts are packed, `sequence_ids` (B, T): attention then stays within each text, and the
    positions of each begin with 0. Heads score a token by the product with its vector in the table (tied weights).

    Attributes:
        token_embeddings: the table of V token vectors, each of the width `hidden_dim`.
        head_activation: the activation of heads that read its outputs, by its name among ops.activations.ACTIVATIONS.
        layer_norm_epsilon: of the normalizations in them.
        initializer_range: the standard deviation with which their weights are initialized.
    """

    token_embeddings: EmbeddingTable
    head_activation: str
    layer_norm_epsilon: float
    initializer_range: float


class DirectionalEncoder(Encoder):
    """An Encoder of words that reads by characters and in two directions, neither of which sees the other.

    Of the D numbers of a vector the first half follows from what stands up to the word, the second from what stands
    from it on.
    """

    reads_spelling = True

    @abstractmethod
    def word_vectors(self, character_ids: Any) -> Any:
        """Compute the vectors of words, whatever stands around them: (N, 50) int -> (N, P)."""
        raise NotImplementedError

    @abstractmethod
    def layers_of(self, words: Any, padding_mask: Any, segment_ids: Any = None, training: bool = False) -> list[Any]:
        """Compute all layers of sequences of words: (B, T, P) -> `num_layers` + 1 times (B, T, D)."""
        raise NotImplementedError
