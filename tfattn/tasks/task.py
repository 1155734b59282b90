"""The contract of a task: what stands on top of a model, and how its answers are taught, read and measured."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tfattn.tasks.operating_point import OperatingPoint


class Task(keras.Model):
    """A model part with a head, a loss, metrics and a way to read its outputs.

    `call(features, training=False)` takes the features of features.py and returns a dictionary of outputs.

    Attributes:
        encoder_is_frozen: the encoder is not trained, so its output may be computed once and cached; `encode` computes
            it, and `call` takes it as `encoded` in place of token ids.
        metric_names: the names of all metrics that `measure` gives.
        monitor: the one by which checkpoints are compared when the configuration does not say, or "loss"; and
        monitor_mode: "max" or "min".
        learns_labels: whether every row has to have a `label`.
        answers_together: whether several models, of different seeds or folds, can answer as one, see `combined`.
        has_operating_point: whether validation rows choose one once training is over, see `choose_operating_point`.
    """

    encoder_is_frozen: bool = False
    metric_names: tuple[str, ...] = ()
    monitor: str = "loss"
    monitor_mode: str = "min"
    learns_labels: bool = False
    answers_together: bool = False
    has_operating_point: bool = False

    def losses(self, outputs: dict[str, Any], batch: dict[str, Any]) -> tuple[Any, Any]:
        """The loss of every element and its weight, two float32 tensors of one shape; rows that fill a batch weigh 0.

        The training loss is sum(loss * weight) / sum(weight) over the whole batch, however it is divided.
        """
        raise NotImplementedError

    def answers(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """What is predicted, as tensors with a leading batch dimension; the same in evaluation and in the export."""
        raise NotImplementedError

    def combined(
        self, answers: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """What several tasks of this kind answer together, or one alone, at an operating point where there is one."""
        (alone,) = answers
        return alone

    def choose_operating_point(self, answers: dict[str, np.ndarray], targets: dict[str, np.ndarray]) -> OperatingPoint:
        """Chooses, by what is answered to the validation rows, the score from which on a row counts as positive."""
        raise NotImplementedError

    def measure(self, answers: dict[str, np.ndarray], targets: dict[str, np.ndarray]) -> dict[str, float]:
        """Metrics over a whole split, by flat names."""
        raise NotImplementedError

    def encode(self, features: dict[str, Any]) -> Any:
        """What a frozen encoder contributes to `call`: (B, D)."""
        raise NotImplementedError

    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables, grouped from the input upwards, the head last."""
        raise NotImplementedError
