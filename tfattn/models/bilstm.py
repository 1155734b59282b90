"""Bidirectional LSTMs over word embeddings, ELMo vectors, or both."""

from typing import Any

import keras
from keras import ops
from pydantic import PositiveFloat, PositiveInt

from tfattn import features as feature_names
from tfattn.config.types import Depth, Rate, Section, Size
from tfattn.errors import ConfigError
from tfattn.layers.bidirectional import BidirectionalLstm, check_halves
from tfattn.layers.dropout import Dropout
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.layers.pooling import SegmentPooler
from tfattn.layers.scalar_mix import ScalarMix
from tfattn.models.contracts.encoder import Encoder
from tfattn.models.elmo import Elmo
from tfattn.ops.attention import scaled_dot_product_attention


class Bilstm(Encoder):
    """A stack of bidirectional LSTMs; each reads both directions of the layer below.

    The constructor creates its weights, with names such as `bilstm/lstm_0/forward_kernel`; the weights of an ELMo keep
    their names.

    Masks: padded positions never change the outputs at real positions. The two texts of a pair are read independently;
    with attention each word sees the other text.

    Args:
        vocabulary_size: the number of token ids; known from the preprocessing.
        hidden_dim: the width D of all outputs, an even number: each direction has half of it.
        num_layers: the number of LSTMs.
        embedding_dim: the width of word embeddings; null for none, with an ELMo.
        trains_embeddings: whether word embeddings are trained; otherwise they keep their initial values, see
            `embeddings`.
        elmo: the keys of an `elmo`, such as `{pretrained: saved_models/elmo_small}`, whose layers are read as a learned
            weighted sum.
        trains_elmo: whether the ELMo is trained.
        normalizes_elmo: whether the vectors of each ELMo layer are normalized before they are mixed.
        attention: whether each word attends to the other text of a pair, or to its own text if there is one, followed
            by one more LSTM.
        max_sequence_length: the longest sequence in tokens.
        dropout: the fraction of the input of each layer that is dropped in training.
        initializer_range: the standard deviation with which word embeddings are initialized.

    Call arguments:
        features: `token_ids` (B, T) int; optional `padding_mask` (B, T) bool, True at real tokens, `segment_ids` (B, T)
            int, 1 at the second text of a pair; with an ELMo `character_ids` (B, T, 50) int.

    Returns:
        a dictionary of `sequence_output` (B, T, D), and `pooled_output` (B, D), the maximum over each text.

    Raises:
        ConfigError: there are neither word embeddings nor an ELMo, or the given ELMo is another model.

    Example:
        >>> bilstm = Bilstm(vocabulary_size=100, hidden_dim=8, embedding_dim=4)
        >>> bilstm({"token_ids": ops.ones((1, 5), "int32")})["sequence_output"].shape
        TensorShape([1, 5, 8])

    Source: Wang et al. 2019, "GLUE", section 5.1, where only pairs have attention; ELMo as features: Peters et al.
    2018, section 3.3.
    """

    def __init__(
        self,
        *,
        vocabulary_size: Size[int],
        hidden_dim: PositiveInt = 256,
        num_layers: Depth = 2,
        embedding_dim: PositiveInt | None = 100,
        trains_embeddings: bool = True,
        elmo: Section("elmo") | None = None,
        trains_elmo: bool = False,
        normalizes_elmo: bool = False,
        attention: bool = False,
        max_sequence_length: PositiveInt = 512,
        dropout: Rate = 0.2,
        initializer_range: PositiveFloat = 0.25,
    ):
        super().__init__(name="bilstm")
        self.hidden_dim = hidden_dim
        self.depth = num_layers
        self.trains_elmo = trains_elmo
        self.max_sequence_length = max_sequence_length
        _check(hidden_dim, embedding_dim, elmo)
        self.elmo = elmo
        with self.name_scope():
            self.token = self.mix = None
            width = 0
            if embedding_dim is not None:
                self.token = EmbeddingTable(
                    num_rows=vocabulary_size,
                    width=embedding_dim,
                    initializer_range=initializer_range,
                    name="token",
                )
                self.token.build()
                self.token.trainable = trains_embeddings
                width += embedding_dim
            if elmo is not None:
                elmo.trainable = trains_elmo
                elmo.pooler.trainable = False  # unused
                self.mix = ScalarMix(num_layers=elmo.num_layers + 1, normalize=normalizes_elmo, name="mix")
                self.mix.build()
                width += elmo.hidden_dim
            widths = [width, *[hidden_dim] * (self.depth - 1), *([2 * hidden_dim] if attention else [])]
            self.lstms = [
                BidirectionalLstm(units=hidden_dim // 2, name=f"lstm_{index}") for index in range(len(widths))
            ]
            self.dropouts = [Dropout(dropout, name=f"dropout_{index}") for index in range(len(widths))]
            for lstm, dropout, width in zip(self.lstms, self.dropouts, widths, strict=True):
                lstm.build((None, None, width))
                dropout.build((None, None, width))
            self.pooler = SegmentPooler(name="pooler")
            self.pooler.build((None, None, hidden_dim))
        self.built = True

    @property
    def reads_spelling(self) -> bool:
        return self.elmo is not None

    @property
    def token_embeddings(self) -> EmbeddingTable | None:
        return self.token

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        mask, segments = (features.get(name) for name in (feature_names.PADDING_MASK, feature_names.SEGMENT_IDS))
        x = self._vectors(features, training)
        for number, (lstm, dropout) in enumerate(zip(self.lstms, self.dropouts, strict=True)):
            if number == self.depth:
                x = ops.concatenate([x, _attended(x, mask, segments)], axis=-1)
            x = lstm(dropout(x, training=training), mask, segments)
        pooled = self.pooler(x, mask, segments)
        return {feature_names.SEQUENCE_OUTPUT: x, feature_names.POOLED_OUTPUT: pooled}

    def depth_groups(self) -> list[list[keras.Variable]]:
        below = [] if self.elmo is None else self.elmo.depth_groups()
        tables = [layer for layer in (self.token, self.mix) if layer is not None]
        groups = [[variable for layer in tables for variable in layer.trainable_variables]]
        groups += [layer.trainable_variables for layer in (*self.lstms, self.pooler)]
        return [group for group in (*below, *groups) if group]

    def _vectors(self, features: dict[str, Any], training: bool) -> Any:
        """Compute the inputs of the first layer, (B, T, F)."""
        vectors = []
        if self.token is not None:
            vectors.append(ops.cast(self.token(features[feature_names.TOKEN_IDS]), self.compute_dtype))
        if self.elmo is not None:
            layers = self.elmo(features, training=training and self.trains_elmo)[feature_names.HIDDEN_STATES]
            vectors.append(ops.cast(self.mix(layers), self.compute_dtype))
        return vectors[0] if len(vectors) == 1 else ops.concatenate(vectors, axis=-1)


def _attended(x: Any, padding_mask: Any, segment_ids: Any) -> Any:
    """Attend from each token to the other text of a pair, or to all tokens of a single text: (B, T, D)."""
    rows, length, _ = ops.shape(x)
    seen = ops.ones((rows, 1, length), "bool") if padding_mask is None else ops.cast(padding_mask, "bool")[:, None]
    if segment_ids is not None:
        is_pair = ops.any(segment_ids > 0, axis=1)[:, None, None]
        is_other = segment_ids[:, :, None] != segment_ids[:, None, :]
        seen = ops.logical_and(seen, ops.logical_or(is_other, ops.logical_not(is_pair)))
    heads = x[:, None]  # a single head
    return scaled_dot_product_attention(heads, heads, heads, mask=seen[:, None])[0][:, 0]


def _check(hidden_dim: int, embedding_dim: int | None, elmo: Any) -> None:
    check_halves(hidden_dim)
    if elmo is not None and not isinstance(elmo, Elmo):
        raise ConfigError(
            "the model has no layers of word vectors", key="elmo", expected="an elmo", received=f"a {elmo.name}"
        )
    if embedding_dim is None and elmo is None:
        raise ConfigError(
            "the model has no inputs",
            key="embedding_dim",
            expected="a width, or an `elmo`",
            received="null",
        )
