"""ELMo: character-based word representations and two stacks of LSTMs."""

from typing import Any, Literal

import keras
from keras import ops
from pydantic import NonNegativeInt, PositiveFloat, PositiveInt

from tfattn import features as feature_names
from tfattn.config.types import Depth, Rate
from tfattn.errors import ConfigError
from tfattn.layers.bidirectional import BidirectionalLstm, check_halves
from tfattn.layers.character_words import BEYOND, CharacterWords
from tfattn.layers.dropout import Dropout
from tfattn.layers.pooling import SegmentPooler
from tfattn.models.contracts.encoder import DirectionalEncoder

MAX_CHARACTERS = 50  # of a word
# The width in characters and the number of filters, as published.
FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


class Elmo(DirectionalEncoder):
    """A character CNN for words, followed by LSTMs in two independent directions.

    Default sizes are the published sizes. The constructor creates its weights, with names such as
    `elmo/words/kernel_0` and `elmo/lstm_1/forward_kernel`.

    Masks: padded positions never change the outputs at real positions; the two texts of a pair do not see each other.
    The initial state of every row is zero.

    Args:
        hidden_dim: the width D of all outputs, an even number. Each direction, and the word vectors, have the width
            P = D / 2.
        cell_dim: the number of cells of each LSTM, whose outputs are projected to P.
        num_layers: the number of LSTMs of each direction; all but the first have a residual connection.
        character_dim: the width of character embeddings.
        filters: pairs of a width, in characters, and the number of filters of this width.
        num_highways: the number of highway layers after the convolutions.
        activation: the activation of the convolutions.
        cell_clip: the maximum absolute value in a cell; null for no limit.
        projection_clip: the maximum absolute value of a projected output; null for no limit.
        max_sequence_length: the longest sequence in words, start and end marks included.
        dropout: the fraction of the inputs and outputs of each LSTM that is dropped in training.

    Call arguments:
        features: `character_ids` (B, T, 50) int; optional `padding_mask` (B, T) bool, True at real words, and
            `segment_ids` (B, T) int.

    Returns:
        a dictionary of `sequence_output` (B, T, D); `pooled_output` (B, D); and `hidden_states`, (B, T, D) each: the
        word vectors, repeated twice, and the outputs of each LSTM, forward and backward. The last of them is
        `sequence_output`.

    Raises:
        ConfigError: hidden_dim is odd, or a filter is wider than a word.

    Example:
        >>> elmo = Elmo(hidden_dim=8, cell_dim=16, character_dim=4, filters=[[1, 4], [2, 8]])
        >>> elmo({"character_ids": ops.ones((1, 5, 50), "int32")})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: Peters et al. 2018, "Deep contextualized word representations", section 3.1 to 3.3; sizes and clips as in
    the published weights. The original keeps its states between batches, this model within a record: docs/elmo.md.
    """

    def __init__(
        self,
        *,
        hidden_dim: PositiveInt = 1024,
        cell_dim: PositiveInt = 4096,
        num_layers: Depth = 2,
        character_dim: PositiveInt = 16,
        filters: tuple[tuple[PositiveInt, PositiveInt], ...] = FILTERS,
        num_highways: NonNegativeInt = 2,
        activation: Literal["relu", "tanh"] = "relu",
        cell_clip: PositiveFloat | None = 3.0,
        projection_clip: PositiveFloat | None = 3.0,
        max_sequence_length: PositiveInt = 512,
        dropout: Rate = 0.1,
    ):
        super().__init__(name="elmo")
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.filters = [list(pair) for pair in filters]
        self.max_sequence_length = max_sequence_length
        self._check()
        with self.name_scope():
            self.words = CharacterWords(
                units=hidden_dim // 2,
                character_dim=character_dim,
                filters=self.filters,
                num_highways=num_highways,
                activation=activation,
                name="words",
            )
            self.lstms = [
                BidirectionalLstm(
                    units=cell_dim,
                    projection_dim=hidden_dim // 2,
                    cell_clip=cell_clip,
                    projection_clip=projection_clip,
                    reads_halves=True,
                    name=f"lstm_{index}",
                )
                for index in range(num_layers)
            ]
            self.dropouts = [Dropout(dropout, name=f"dropout_{index}") for index in range(num_layers + 1)]
            self.pooler = SegmentPooler(name="pooler")
            self.words.build()
            for layer in (*self.lstms, *self.dropouts, self.pooler):
                layer.build((None, None, hidden_dim))
        self.built = True

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        character_ids = features[feature_names.CHARACTER_IDS]
        rows, length, room = ops.shape(character_ids)
        words = self.word_vectors(ops.reshape(character_ids, (-1, room)))
        words = ops.reshape(words, (rows, length, self.hidden_dim // 2))
        mask, segments = (features.get(name) for name in (feature_names.PADDING_MASK, feature_names.SEGMENT_IDS))
        layers = self.layers_of(words, mask, segments, training=training)
        return {
            feature_names.SEQUENCE_OUTPUT: layers[-1],
            feature_names.POOLED_OUTPUT: self.pooler(layers[-1], mask, segments),
            feature_names.HIDDEN_STATES: layers,
        }

    def word_vectors(self, character_ids: Any) -> Any:
        """Compute context-independent word vectors: (N, 50) int -> (N, P)."""
        # Empty positions after the longest word change nothing beyond the width of the widest filter.
        used = ops.max(ops.sum(ops.cast((character_ids > 0) & (character_ids < BEYOND), "int32"), axis=1), initial=0)
        room = ops.minimum(used + max(width for width, _ in self.filters), ops.shape(character_ids)[1])
        return self.words(character_ids[:, :room])

    def layers_of(self, words: Any, padding_mask: Any, segment_ids: Any = None, training: bool = False) -> list[Any]:
        """Compute all layers of sequences of words: (B, T, P) -> num_layers + 1 times (B, T, D)."""
        x = ops.concatenate([words, words], axis=-1)
        layers = [x]
        x = self.dropouts[0](x, training=training)
        for number, (lstm, dropout) in enumerate(zip(self.lstms, self.dropouts[1:], strict=True)):
            above = dropout(lstm(x, padding_mask, segment_ids), training=training)
            x = above if number == 0 else above + x
            layers.append(x)
        return layers

    def depth_groups(self) -> list[list[keras.Variable]]:
        top = self.pooler.trainable_variables
        groups = [layer.trainable_variables for layer in (self.words, *self.lstms)]
        return [*groups, top] if top else groups

    def _check(self) -> None:
        check_halves(self.hidden_dim)
        if not self.filters or max(width for width, _ in self.filters) > MAX_CHARACTERS:
            raise ConfigError(
                "the filters do not fit words",
                key="filters",
                expected=f"pairs of a width, up to {MAX_CHARACTERS} characters, and a number",
                received=repr(self.filters),
            )
