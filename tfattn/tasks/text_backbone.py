"""The backbone of texts and pairs of texts: pooling of an encoder's outputs."""

from typing import Any, Literal

from keras import ops

from tfattn.errors import ConfigError
from tfattn.features import ENCODED, HIDDEN_STATES, PADDING_MASK, POOLED_OUTPUT, SEQUENCE_OUTPUT
from tfattn.models.contracts.encoder import Encoder
from tfattn.ops import pooling as pool
from tfattn.ops.attention_record import AttentionRecord, recording
from tfattn.ops.normalization import layer_normalization
from tfattn.tasks.backbone import Backbone


class TextBackbone(Backbone):
    """A backbone that pools an encoder's outputs into one vector.

    Masks: padding never changes the vector.

    Args:
        model: the encoder that reads the texts.
        encoder: "fine_tune" trains the encoder; "frozen" does not.
        pooling: how a text is pooled into a vector: the "mean" over its tokens, their "max" in each component, the
            "cls" vector, or BERT's "pooler".
        pooled_layers: the number of the encoder's top layers that are pooled, "all" for all layers and the embeddings.
            The vectors of several layers are normalized to mean 0 and variance 1, so that all layers have the same
            scale, and concatenated.
        dropout: the fraction of the vector that is dropped in training.

    Raises:
        ConfigError: pooled_layers is larger than the number of layers, or not 1 for the pooler.

    Source: Devlin et al. 2018, "BERT", section 4.1, and 5.3 for several layers; mean pooling: Reimers and Gurevych
    2019, "Sentence-BERT".
    """

    def __init__(
        self, model: Encoder, *, encoder: str, pooling: str, pooled_layers: int | Literal["all"], dropout: float
    ):
        layers = _checked(pooled_layers, pooling, available=model.num_layers + 1)
        super().__init__(model, width=model.hidden_dim * layers, dropout=dropout, is_frozen=encoder == "frozen")
        self.pooled_layers = layers
        self.pooling = pooling
        model.trainable = not self.is_frozen
        model.pooler.trainable = pooling == "pooler" and not self.is_frozen
        self.optional_layers = () if pooling == "pooler" else (model.pooler,)

    def encode(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        """Return `encoded` (B, D) float32; and with a record the `hidden_states` of the encoder."""
        outputs = self.model(features, training=training and not self.is_frozen, **recording(record))
        hidden_states = {} if record is None else {HIDDEN_STATES: outputs[HIDDEN_STATES]}
        return {ENCODED: self._pooled(outputs, features.get(PADDING_MASK)), **hidden_states}

    def _pooled(self, outputs: dict[str, Any], mask: Any) -> Any:
        if self.pooling == "pooler":
            return ops.cast(outputs[POOLED_OUTPUT], "float32")
        if self.pooled_layers == 1:
            return pool.pooled(outputs[SEQUENCE_OUTPUT], mask, by=self.pooling)
        vectors = [pool.pooled(x, mask, by=self.pooling) for x in outputs[HIDDEN_STATES][-self.pooled_layers :]]
        ones, zeros = ops.ones(self.model.hidden_dim), ops.zeros(self.model.hidden_dim)
        vectors = [layer_normalization(x, ones, zeros, epsilon=1e-6) for x in vectors]
        return ops.concatenate(vectors, axis=-1)


def _checked(layers: int | Literal["all"], pooling: str, *, available: int) -> int:
    """Return the number of layers to pool."""
    if pooling == "pooler" and layers != 1:
        raise ConfigError("the pooler reads the topmost layer", key="pooled_layers", expected="1", received=str(layers))
    if layers != "all" and layers > available:
        raise ConfigError(
            "the encoder has fewer layers than pooled_layers",
            key="pooled_layers",
            expected=f"at most {available}, the embeddings included, or all",
            received=str(layers),
        )
    return available if layers == "all" else layers
