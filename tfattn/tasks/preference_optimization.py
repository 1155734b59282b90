"""Preference optimization (DPO): a language model learns which of two answers is better."""

from typing import Annotated, Any, Literal

import numpy as np
from keras import ops
from pydantic import Field, PositiveFloat

from tfattn.config.types import Given, Section
from tfattn.features import LOSS_MASK, PADDING_MASK, REFERENCE_LOG_PROBABILITIES, TOKEN_IDS, WEIGHTS
from tfattn.models.contracts.decoder import Decoder
from tfattn.ops.cross_entropy import smoothed_cross_entropy
from tfattn.tasks.language_modeling import LanguageModeling, TokenizerInfo

PREFERENCE = "preference"  # the only loss term
LOG_PROBABILITIES = "log_probabilities"  # (B, 2), of the chosen and the rejected answer
METRICS = ("preference_accuracy", "reward_margin", "chosen_reward", "rejected_reward")


class PreferenceOptimization(LanguageModeling):
    """Direct preference optimization of a decoder on pairs of a chosen and a rejected answer.

    The reward of an answer is beta times the difference of its log probability, the sum over its tokens, to that of
    the reference: the model at the start of the training. The log probabilities of the reference are computed once
    for each record.

    Args:
        model: the decoder.
        preprocessor: the source of the tokens' bytes; known from the data.
        beta: the strength with which the model is kept near the reference; larger values keep it nearer.
        loss: "sigmoid" is DPO, the logistic loss of the difference of both rewards; "ipo" is the squared difference of
            the log-ratios to 1 / (2 beta), which does not grow without limit on clear preferences.
        label_smoothing: the assumed fraction of pairs whose answers are interchanged, for "sigmoid".
        generation: the default settings of generation.

    Call arguments:
        features: `token_ids`, `padding_mask` and `loss_mask` (B, 2, T) of the chosen and the rejected chat.

    Returns:
        `log_probabilities` (B, 2) float32, of both answers.

    Source: Rafailov et al. 2023, "Direct preference optimization", eq. 7; label smoothing: Mitchell 2023, "A note on
    DPO with noisy preferences"; IPO: Azar et al. 2023, "A general theoretical paradigm to understand learning from
    human preferences", eq. 17.
    """

    loss_names = (PREFERENCE,)
    metric_names = METRICS
    monitor = "loss"
    precomputed = (REFERENCE_LOG_PROBABILITIES,)

    def __init__(
        self,
        *,
        model: Given[Decoder],
        preprocessor: Given[TokenizerInfo],
        beta: PositiveFloat = 0.1,
        loss: Literal["sigmoid", "ipo"] = "sigmoid",
        label_smoothing: Annotated[float, Field(ge=0.0, lt=0.5)] = 0.0,
        generation: Section("generation") | None = None,
    ):
        super().__init__(model=model, preprocessor=preprocessor, label_smoothing=label_smoothing, generation=generation)
        self.beta = beta
        self.loss = loss

    def call(self, features: dict[str, Any], training: bool = False) -> dict[str, Any]:
        rows, answers, length = ops.shape(features[TOKEN_IDS])
        flat = {name: ops.reshape(features[name], (-1, length)) for name in (TOKEN_IDS, PADDING_MASK, LOSS_MASK)}
        mask = ops.cast(flat[LOSS_MASK], "float32") * ops.cast(flat[PADDING_MASK], "float32")
        logits = super().call({name: flat[name] for name in (TOKEN_IDS, PADDING_MASK)}, training=training)["logits"]
        losses = smoothed_cross_entropy(logits, flat[TOKEN_IDS][:, 1:], smoothing=0.0)
        log_probabilities = -ops.sum(losses * mask[:, 1:], axis=1)
        return {LOG_PROBABILITIES: ops.reshape(log_probabilities, (rows, answers))}

    def precompute(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {REFERENCE_LOG_PROBABILITIES: self(batch)[LOG_PROBABILITIES]}

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Return 1 for each pair, (B,)."""
        return {PREFERENCE: ops.cast(batch[WEIGHTS], "float32")}

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the loss of each pair, (B,)."""
        rewards = self._rewards(outputs, batch)
        margin = rewards[:, 0] - rewards[:, 1]
        if self.loss == "ipo":
            return {PREFERENCE: ops.square(margin / self.beta - 0.5 / self.beta)}
        smoothing = self.label_smoothing
        return {PREFERENCE: (1.0 - smoothing) * ops.softplus(-margin) + smoothing * ops.softplus(margin)}

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Return `log_probabilities` (B, 2) of both answers."""
        return outputs

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Sum both rewards, and count the pairs, and the pairs whose chosen answer has the higher reward."""
        rewards = self._rewards(outputs, batch)
        counts = ops.cast(batch[WEIGHTS] > 0, "float32")
        is_right = ops.cast(rewards[:, 0] > rewards[:, 1], "float32")
        sums = {"chosen": rewards[:, 0], "rejected": rewards[:, 1], "right": is_right, "pairs": 1.0}
        return {name: ops.sum(each * counts) for name, each in sums.items()}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the fraction of pairs whose chosen answer has the higher reward, and the mean rewards."""
        pairs = max(float(statistics["pairs"]), 1.0)
        right, chosen, rejected = (float(statistics[name]) / pairs for name in ("right", "chosen", "rejected"))
        return dict(zip(METRICS, (right, chosen - rejected, chosen, rejected), strict=True))

    def _rewards(self, outputs: dict[str, Any], batch: dict[str, Any]) -> Any:
        """Compute the rewards of the chosen and the rejected answer, (B, 2) float32."""
        return self.beta * (outputs[LOG_PROBABILITIES] - batch[REFERENCE_LOG_PROBABILITIES])
