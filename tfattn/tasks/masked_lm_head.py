"""BERT's masked language modelling head: the original token at each masked position."""

from typing import Any

import keras
from keras import ops

from tfattn.features import MASKED_LM_IDS, MASKED_LM_POSITIONS, MASKED_LM_WEIGHTS, SEQUENCE_OUTPUT, WEIGHTS
from tfattn.layers.normalization import normalization_layer
from tfattn.layers.projection import Projection
from tfattn.layers.token_tables import logits
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.ops.activations import ACTIVATIONS
from tfattn.ops.cross_entropy import smoothed_cross_entropy
from tfattn.ops.indexing import pick

MASKED_LM = "masked_lm"  # the loss term
MASKED_LM_LOGITS = "masked_lm_logits"  # (B, P, V)
TOP_K = 10  # predictions for each masked position


class MaskedLmHead(keras.layers.Layer):
    """Logits over the vocabulary at P positions of each row: a dense layer and the tied token embeddings.

    Only the vectors at these positions are computed, since the product with V token vectors dominates the cost.

    Masks: padded positions have a weight of 0.

    Args:
        encoder: the owner of the token embeddings.

    Attributes:
        metric_names: the names of all metrics that `metrics_from` returns.

    Source: Devlin et al. 2019, "BERT", section 3.1; the released code's `get_masked_lm_output`.
    """

    metric_names = ("masked_lm_accuracy",)

    def __init__(self, encoder: PretrainableEncoder):
        super().__init__(name="masked_lm_head")
        self._activation = ACTIVATIONS[encoder.head_activation]
        self._table = lambda: encoder.token_embeddings  # not tracked as a sublayer: the encoder owns it
        self.dense = Projection(
            units=encoder.token_embeddings.width,
            use_bias=encoder.head_use_bias,
            initializer_range=encoder.initializer_range,
            name="dense",
        )
        self.norm = normalization_layer(encoder.head_normalization, epsilon=encoder.layer_norm_epsilon, name="norm")
        self.build((None, None, encoder.hidden_dim))

    def build(self, input_shape: tuple) -> None:
        self.dense.build(input_shape)
        self.norm.build((*input_shape[:-1], self.dense.units))
        self.bias = self.add_weight(name="bias", shape=(self._table().num_rows,), initializer="zeros")

    def call(self, outputs: dict[str, Any], features: dict[str, Any]) -> Any:
        """Compute the logits (B, P, V) at the `masked_lm_positions` of the features, from an encoder's outputs."""
        x = pick(outputs[SEQUENCE_OUTPUT], features[MASKED_LM_POSITIONS])  # (B, T, D) -> (B, P, D)
        return logits(self.norm(self._activation(self.dense(x))), self._table(), self.bias)

    def loss_weights(self, batch: dict[str, Any]) -> Any:
        """Return 1 for each masked token, (B, P)."""
        rows = ops.cast(batch[WEIGHTS], "float32")[:, None]
        return ops.cast(batch[MASKED_LM_WEIGHTS], "float32") * rows

    def losses(self, outputs: dict[str, Any], batch: dict[str, Any]) -> Any:
        """Compute the cross-entropy of each masked token, (B, P), in nats."""
        return smoothed_cross_entropy(outputs[MASKED_LM_LOGITS], batch[MASKED_LM_IDS], smoothing=0.0)

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the K most likely `token_ids` (B, P, K) int32 and their probabilities `scores` (B, P, K) float32."""
        probabilities = ops.softmax(ops.cast(outputs[MASKED_LM_LOGITS], "float32"), axis=-1)
        scores, token_ids = ops.top_k(probabilities, min(TOP_K, probabilities.shape[-1]))
        return {"token_ids": ops.cast(token_ids, "int32"), "scores": scores}

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count the masked tokens, and the correct predictions."""
        weights = ops.cast(self.loss_weights(batch) > 0, "float32")
        found = ops.argmax(outputs[MASKED_LM_LOGITS], axis=-1) == batch[MASKED_LM_IDS]
        return {
            "masked_found": ops.sum(ops.cast(found, "float32") * weights),
            "masked_tokens": ops.sum(weights),
        }

    def metrics_from(self, statistics: dict[str, Any]) -> dict[str, float]:
        """Compute the accuracy of masked tokens."""
        return {"masked_lm_accuracy": float(statistics["masked_found"]) / max(float(statistics["masked_tokens"]), 1.0)}
