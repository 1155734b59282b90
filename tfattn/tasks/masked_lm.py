"""Masked language modelling: an encoder learns to predict masked tokens."""

from typing import Any

import keras
import numpy as np

from tfattn.config.types import Given
from tfattn.features import HIDDEN_STATES
from tfattn.models.contracts.encoder import PretrainableEncoder
from tfattn.ops.attention_record import AttentionRecord, recording
from tfattn.tasks.masked_lm_head import MASKED_LM, MASKED_LM_LOGITS, MaskedLmHead
from tfattn.tasks.task import Task


class MaskedLm(Task):
    """Pre-training on texts by masked language modelling, without next-sentence prediction.

    Args:
        model: the encoder.

    Call arguments:
        features: the inputs of the encoder, and `masked_lm_positions` (B, P).
        record: records the attention of each layer.

    Returns:
        a dictionary of `masked_lm_logits` (B, P, V); and with a record the `hidden_states` of the encoder.

    Example:
        >>> from tfattn.models.bert import Bert
        >>> encoder = Bert(vocabulary_size=100, hidden_dim=8, num_layers=2, num_heads=2, intermediate_dim=32)
        >>> ones = keras.ops.ones((1, 5), "int32")
        >>> task = MaskedLm(model=encoder)
        >>> task({"token_ids": ones, "masked_lm_positions": ones[:, :2]})["masked_lm_logits"].shape
        TensorShape([1, 2, 100])

    Source: Devlin et al. 2019, "BERT", section 3.1; without next sentences: Liu et al. 2019, "RoBERTa", section 4.2.
    """

    loss_names = (MASKED_LM,)
    metric_names = MaskedLmHead.metric_names
    predicts_rows = False

    def __init__(self, *, model: Given[PretrainableEncoder]):
        super().__init__(name=MASKED_LM, autocast=False)
        self.model = model
        model.pooler.trainable = False  # unused
        self.masked_lm_head = MaskedLmHead(model)
        self.built = True

    @property
    def optional_layers(self) -> list[keras.layers.Layer]:
        return [self.masked_lm_head, self.model.pooler]

    def call(
        self, features: dict[str, Any], training: bool = False, record: AttentionRecord | None = None
    ) -> dict[str, Any]:
        outputs = self.model(features, training=training, **recording(record))
        hidden_states = {} if record is None else {HIDDEN_STATES: outputs[HIDDEN_STATES]}
        return {MASKED_LM_LOGITS: self.masked_lm_head(outputs, features), **hidden_states}

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {MASKED_LM: self.masked_lm_head.loss_weights(batch)}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return {MASKED_LM: self.masked_lm_head.losses(outputs, batch)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        return self.masked_lm_head.predictions(outputs)

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        return self.masked_lm_head.statistics(outputs, batch)

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        return self.masked_lm_head.metrics_from(statistics)

    def depth_groups(self) -> list[list[keras.Variable]]:
        return [*self.model.depth_groups(), self.masked_lm_head.trainable_variables]
