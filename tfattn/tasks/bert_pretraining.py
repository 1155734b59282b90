"""BERT pre-training: masked language modelling and next-sentence prediction."""

from typing import Any

import keras
import numpy as np
from keras import ops

from tfattn.config.types import Given
from tfattn.features import NEXT_SENTENCE_LABELS, POOLED_OUTPUT, WEIGHTS
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.ops.cross_entropy import smoothed_cross_entropy
from tfattn.tasks.masked_lm_head import MASKED_LM, MASKED_LM_LOGITS, MaskedLmHead
from tfattn.tasks.task import Task

NEXT_SENTENCE = "next_sentence"  # the term of the loss
NEXT_SENTENCE_LOGITS = "next_sentence_logits"  # (B, 2): next sentence, random sentence


class BertPretraining(Task):
    """Pre-training on pairs of segments by masked language modelling and next-sentence prediction.

    The loss is the sum of two means: over the masked tokens, and over the pairs.

    Args:
        model: the encoder.

    Call arguments:
        features: the inputs of the encoder, and `masked_lm_positions` (B, P).

    Returns:
        a dictionary of `masked_lm_logits` (B, P, V) and `next_sentence_logits` (B, 2) float32.

    Source: Devlin et al. 2019, "BERT", section 3.1.
    """

    loss_names = (MASKED_LM, NEXT_SENTENCE)
    metric_names = (*MaskedLmHead.metric_names, "next_sentence_accuracy")
    predicts_rows = False

    def __init__(self, *, model: Given[PretrainableEncoder]):
        super().__init__(name="bert_pretraining", autocast=False)
        self.model = model
        self.masked_lm_head = MaskedLmHead(model)
        initializer = keras.initializers.TruncatedNormal(stddev=model.initializer_range)
        self.next_sentence_head = keras.layers.Dense(
            2, kernel_initializer=initializer, name="next_sentence_head", dtype="float32"
        )
        self.next_sentence_head.build((None, model.hidden_dim))
        self.built = True

    @property
    def optional_layers(self) -> list[keras.layers.Layer]:
        return [self.masked_lm_head, self.next_sentence_head]

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        outputs = self.model(features, training=training)
        return {
            MASKED_LM_LOGITS: self.masked_lm_head(outputs, features),
            NEXT_SENTENCE_LOGITS: self.next_sentence_head(outputs[POOLED_OUTPUT]),
        }

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each masked token (B, P), and for each pair (B,)."""
        return {
            MASKED_LM: self.masked_lm_head.loss_weights(batch),
            NEXT_SENTENCE: ops.cast(batch[WEIGHTS], "float32"),
        }

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        labels = batch[NEXT_SENTENCE_LABELS]
        return {
            MASKED_LM: self.masked_lm_head.losses(outputs, batch),
            NEXT_SENTENCE: smoothed_cross_entropy(outputs[NEXT_SENTENCE_LOGITS], labels, smoothing=0.0),
        }

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return the predictions for each masked token; next-sentence predictions are used in training only."""
        return self.masked_lm_head.predictions(outputs)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Count the masked tokens and pairs, and the correct predictions of both."""
        counts, labels = ops.cast(batch[WEIGHTS] > 0, "float32"), batch[NEXT_SENTENCE_LABELS]
        found = ops.argmax(outputs[NEXT_SENTENCE_LOGITS], axis=-1) == ops.cast(labels, "int32")
        return {
            **self.masked_lm_head.statistics(outputs, batch),
            "pairs_found": ops.sum(ops.cast(found, "float32") * counts),
            "pairs": ops.sum(counts),
        }

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the accuracies of masked tokens and of next sentences."""
        found = float(statistics["pairs_found"]) / float(statistics["pairs"])
        return {**self.masked_lm_head.metrics_from(statistics), "next_sentence_accuracy": found}

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [
            *self.model.depth_groups(),
            [variable for head in self.optional_layers for variable in head.trainable_variables],
        ]
