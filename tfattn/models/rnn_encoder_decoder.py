"""The recurrent encoder-decoder, with or without attention."""

from typing import Any, Literal

import keras
from keras import ops, tree
from pydantic import PositiveInt

from tfattn.config.types import Depth, Rate, Size
from tfattn.errors import ConfigError
from tfattn.features import LOGITS, PADDING_MASK, TARGET_IDS, TOKEN_IDS
from tfattn.layers.bahdanau_decoder import BahdanauDecoder
from tfattn.layers.dropout import Dropout
from tfattn.layers.embeddings import EmbeddingTable
from tfattn.layers.luong_decoder import InputFeedingDecoder, LuongDecoder
from tfattn.layers.recurrent import Bidirectional
from tfattn.layers.recurrent_decoder import PlainDecoder
from tfattn.layers.token_tables import logits, token_tables
from tfattn.models.contracts.attends import Attends
from tfattn.models.contracts.encoder_decoder import EncoderDecoder
from tfattn.ops.attention_record import CROSS, AttentionRecord, recorded

WIRINGS = {
    "bahdanau": BahdanauDecoder,
    "luong": LuongDecoder,
    "input_feeding": InputFeedingDecoder,
    "plain": PlainDecoder,
}


class RnnEncoderDecoder(Attends, EncoderDecoder):
    """A bidirectional encoder of GRUs or LSTMs, and a decoder of such layers with attention to the source.

    The constructor creates its weights, with names such as
    `rnn_encoder_decoder/encoder_0/forward/cell/recurrent_kernel`. Logits are products of the decoder's output with a
    table of one vector per target token, and a bias; token vectors are multiplied by the root of their width.

    Masks: padded positions never change the outputs at real positions. At the padding of a source, states stay the same
    and attention weights are 0; the padding of a target is after all real tokens.

    Args:
        vocabulary_size: the number of source token ids; known from the preprocessing.
        target_vocabulary_size: V, the number of target token ids; known from the preprocessing.
        hidden_dim: the width D of the decoder's states.
        embedding_dim: the width E of token vectors, and of the decoder's outputs.
        num_layers: the number of layers of the encoder, and of the decoder.
        encoder_dim: the width of the encoder's vectors, both directions together, an even number; by default
            `hidden_dim` (Bahdanau et al. used twice that).
        cell: gru or lstm.
        wiring: how the decoder reads the source. bahdanau: the last state attends, then the decoder takes a step;
            luong: the decoder takes a step, then the new state attends; input_feeding: as luong, and the next step also
            reads the last output; plain: the decoder reads a single vector (no attention).
        score: the score function of a state and a source position: additive (a network), concat (Luong's name for the
            same), dot (dot product, which needs encoder_dim = hidden_dim) or general (bilinear).
        max_sequence_length: the longest source and the longest target in tokens, start and end included.
        dropout: the fraction of embeddings and of the outputs of layers and decoder that is dropped in training.
        share_embeddings: which token embeddings are shared: "all" (source, target and output; the preprocessing has a
            joint vocabulary), "target" (target and output) or "none".

    Call arguments:
        features: `token_ids` (B, S) int, `padding_mask` (B, S) bool, True at real tokens, and `target_ids` (B, T) int.
        record: records the attention of each layer, see `AttentionRecord`.

    Returns:
        a dictionary of `logits` (B, T - 1, V) in the model's compute type.

    Raises:
        ConfigError: encoder_dim is odd or does not fit the score, or all embeddings are shared by vocabularies of
            different sizes.

    Example:
        >>> model = RnnEncoderDecoder(vocabulary_size=100, target_vocabulary_size=90, hidden_dim=8, embedding_dim=6)
        >>> ids = ops.ones((1, 5), "int32")
        >>> model({"token_ids": ids, "padding_mask": ids > 0, "target_ids": ids})["logits"].shape
        TensorShape([1, 4, 90])

    Source: Bahdanau et al. 2015, "Neural machine translation by jointly learning to align and translate"; Luong et al.
    2015, "Effective approaches to attention-based neural machine translation"; plain: Cho et al. 2014, "Learning phrase
    representations using RNN encoder-decoder".
    """

    has_vectors = False

    def __init__(
        self,
        *,
        vocabulary_size: Size[int],
        target_vocabulary_size: Size[int],
        hidden_dim: PositiveInt,
        embedding_dim: PositiveInt,
        num_layers: Depth = 1,
        encoder_dim: PositiveInt | None = None,
        cell: Literal["gru", "lstm"] = "gru",
        wiring: Literal["bahdanau", "luong", "input_feeding", "plain"] = "bahdanau",
        score: Literal["additive", "concat", "dot", "general"] = "additive",
        max_sequence_length: PositiveInt = 512,
        dropout: Rate = 0.2,
        share_embeddings: Literal["all", "target", "none"] = "target",
    ):
        super().__init__(name="rnn_encoder_decoder")
        self.vocabulary_size = vocabulary_size
        self.target_vocabulary_size = target_vocabulary_size
        self.embedding_dim = embedding_dim
        self.max_sequence_length = max_sequence_length
        self.aligns = wiring != "plain"
        _check(hidden_dim, encoder_dim or hidden_dim, score if self.aligns else None)
        with self.name_scope():
            self.source_token, self.target_token, self.output_token = token_tables(
                embedding_dim,
                vocabulary_size=vocabulary_size,
                target_vocabulary_size=target_vocabulary_size,
                share=share_embeddings,
            )
            annotations = encoder_dim or hidden_dim
            self.encoder = [
                Bidirectional(units=annotations, cell=cell, name=f"encoder_{index}") for index in range(num_layers)
            ]
            for index, layer in enumerate(self.encoder):
                layer.build((None, None, annotations if index else embedding_dim))
            self.decoder = WIRINGS[wiring](
                hidden_dim=hidden_dim,
                output_dim=embedding_dim,
                num_layers=num_layers,
                cell=cell,
                score=score,
                dropout=dropout,
                name="decoder",
            )
            self.decoder.build((None, None, embedding_dim), (None, None, annotations))
            self.output_bias = self.add_weight(
                name="output_bias", shape=(target_vocabulary_size,), initializer="zeros", autocast=False
            )
            self.source_dropout = Dropout(dropout, name="source_dropout")
            self.encoder_dropouts = [Dropout(dropout, name=f"encoder_{index}_dropout") for index in range(num_layers)]
            self.target_dropout = Dropout(dropout, name="target_dropout")
            self.output_dropout = Dropout(dropout, name="output_dropout")
            for layer in (self.source_dropout, *self.encoder_dropouts, self.target_dropout, self.output_dropout):
                layer.build((None, None, None))
        self.built = True

    @property
    def token_embeddings(self) -> EmbeddingTable:
        return self.source_token

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        memory = self.encode(features, training=training)
        x = self.target_dropout(self._vectors(self.target_token, features[TARGET_IDS][:, :-1]), training=training)
        x = self.decoder(x, memory, record=recorded(record, CROSS), training=training)
        x = ops.cast(self.output_dropout(x, training=training), self.compute_dtype)
        return {LOGITS: logits(x, self.output_token, self.output_bias)}

    def encode(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        """Compute the memory of a source.

        Returns:
            a dictionary of `padding_mask` (B, S) bool, `summary` (B, C), and the tensors that the decoder's wiring
            reads.
        """
        padding_mask = ops.cast(features[PADDING_MASK], "bool")
        x = self.source_dropout(self.token_vectors(features), training=training)
        for layer, dropout in zip(self.encoder, self.encoder_dropouts, strict=True):
            x = dropout(layer(x, padding_mask), training=training)
        return self.decoder.memory_of(x, self.encoder[-1].last_states(x), padding_mask)

    def empty_state(self, memory: dict[str, Any], max_length: int, num_beams: int = 1) -> Any:
        """Return the initial states of the decoder's layers, of B W rows; `max_length` has no effect."""
        return tree.map_structure(lambda x: ops.repeat(x, num_beams, axis=0), self.decoder.first_state(memory))

    def step(self, token_ids: Any, index: Any, memory: dict[str, Any], state: Any) -> tuple[Any, Any, Any]:
        x, state, alignment = self.decoder.step(self._vectors(self.target_token, token_ids), memory, state)
        # In half precision many logits would be equal, and the choice between them arbitrary.
        return logits(ops.cast(x, "float32"), self.output_token, self.output_bias), state, alignment

    def vectors_of(self, features: dict[str, Any]) -> Any:
        return self._vectors(self.source_token, features[TOKEN_IDS])

    def depth_groups(self) -> list[list[keras.Variable]]:
        tables = list({id(table): table for table in (self.source_token, self.target_token)}.values())
        top = [] if self.output_token is self.target_token else self.output_token.trainable_variables
        return [
            [variable for table in tables for variable in table.trainable_variables],
            *(layer.trainable_variables for layer in self.encoder),
            [*self.decoder.trainable_variables, *top, self.output_bias],
        ]

    def _vectors(self, table: EmbeddingTable, ids: Any) -> Any:
        # Output embeddings have small values; inputs are scaled to the size of the states.
        return table(ids) * self.embedding_dim**0.5


def _check(hidden_dim: int, encoder_dim: int, score: str | None) -> None:
    if encoder_dim % 2:
        raise ConfigError(
            "the width of the encoder cannot be halved for its two directions",
            key="encoder_dim",
            expected="an even number (hidden_dim, if not given)",
            received=str(encoder_dim),
        )
    if score == "dot" and encoder_dim != hidden_dim:
        raise ConfigError(
            "a product of two vectors needs them to have the same width",
            key="encoder_dim",
            expected=f"{hidden_dim}, as hidden_dim, or `score: general`",
            received=str(encoder_dim),
        )
