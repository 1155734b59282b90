"""The contracts of encoders of texts."""

from abc import abstractmethod
from typing import Any

import keras

from tfattn.layers.embeddings import EmbeddingTable
from tfattn.models.contracts.model import Model


class Encoder(Model):
    """A model that reads a whole sequence and returns a vector for each position and for the sequence.

    `call(features, training=False)` takes `token_ids` (B, T), `padding_mask` (B, T) and, where the model has them,
    `segment_ids` (B, T); it returns `sequence_output` (B, T, D) and `pooled_output` (B, D). A model of several layers
    may also return `hidden_states`, a list of the outputs of the embeddings and each layer, (B, T, D) each, the last of
    which is `sequence_output`. Padded positions never change the outputs at real positions.

    Attributes:
        hidden_dim: the width D of all outputs.
        num_layers: the number of layers in `hidden_states`, without the embeddings; 0 without `hidden_states`.
        max_sequence_length: the maximum T, in tokens.
        reads_spelling: whether it also reads `character_ids` (B, T, 50).
        pooler: the layer that computes `pooled_output`; tasks that do not read the output freeze it.
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
    """An Encoder for masked language modelling.

    `call` also takes `sequence_ids` (B, T) for packed texts: attention then stays within each text, and the positions
    of each text start at 0. Heads share the token embeddings (tied weights).

    Attributes:
        token_embeddings: the table of V token vectors.
        head_activation: the activation of heads, a name in ops.activations.ACTIVATIONS.
        head_normalization: the normalization of heads, as `normalization_layer`.
        head_use_bias: whether the dense layer of the masked language modeling head has a bias.
        layer_norm_epsilon: the epsilon of normalizations in heads.
        initializer_range: the standard deviation with which the weights of heads are initialized.
    """

    token_embeddings: EmbeddingTable
    head_activation: str
    head_normalization: str = "layer_norm"
    head_use_bias: bool = True
    layer_norm_epsilon: float
    initializer_range: float


class DirectionalEncoder(Encoder):
    """An Encoder of character-based words that reads in two independent directions.

    The first half of a vector depends on the word and the words before it, the second on the word and those after it.
    """

    reads_spelling = True

    @abstractmethod
    def word_vectors(self, character_ids: Any) -> Any:
        """Compute context-independent word vectors: (N, 50) int -> (N, P)."""
        raise NotImplementedError

    @abstractmethod
    def layers_of(self, words: Any, padding_mask: Any, segment_ids: Any = None, training: bool = False) -> list[Any]:
        """Compute all layers of sequences of words: (B, T, P) -> `num_layers` + 1 times (B, T, D)."""
        raise NotImplementedError
