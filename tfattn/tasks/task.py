"""The contract of a task: what stands on top of a model, and how its predictions are taught, read and measured."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tfattn.tasks.operating_point import OperatingPoint


class Task(keras.Model):
    """A model part with a head, a loss, metrics and a way to read its outputs.

    `call(features, training=False)` takes the features of features.py and returns a dictionary of outputs. What it has
    to know of its targets is given to it as `targets`: the facts of the class that its Kind names in the catalog.

    Attributes:
        encoder_is_frozen: the encoder is not trained, so its output may be computed once and cached; `encode` computes
            it, and `call` takes it as `encoded` in place of token ids.
        loss_names: the terms of the loss, by the names that `loss_weights` and `loss_terms` give.
        metric_names: the names of all metrics that `metrics_from` gives.
        monitor: the one by which checkpoints are compared when the configuration does not say, or "loss"; and
        monitor_mode: "max" or "min".
        labels: the classes in the order of their ids; None where it predicts none, or until they are read.
        predicts_together: whether several models, of different seeds or folds, can predict as one, see `combined`.
        has_operating_point: whether validation rows choose one once training is over, see `choose_operating_point`.
        learns_from_sums: whether the learning rate is that of each element of the loss by itself, as where every pair
            of words is a step of its own: the gradient of a batch is that of sum(loss * weight). Else it is that of the
            mean, see `loss_weights`.
        predicts_rows: whether it predicts something of each row; else its records are measured by its metrics alone,
            as in pre-training, where a record is made of a part of a row, or of many.
        optional_layers: those that published weights need not have: heads on top of the model, and what is not read.
    """

    encoder_is_frozen: bool = False
    loss_names: tuple[str, ...] = ()
    metric_names: tuple[str, ...] = ()
    monitor: str = "loss"
    monitor_mode: str = "min"
    labels: list[str] | None = None
    predicts_together: bool = False
    has_operating_point: bool = False
    learns_from_sums: bool = False
    predicts_rows: bool = True
    optional_layers: Sequence[keras.layers.Layer] = ()

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """How much each element of each term of the loss counts, float32; 0 where it does not, as in rows that fill.

        They follow from the batch alone, so that their sums over all of its parts are known before the backward pass.
        The loss of a batch is the sum over its terms of sum(loss * weight) / sum(weight), however it is divided; a
        term that no element of the batch counts in adds nothing.

        Args:
            batch: what the reader gives: inputs, targets, and `weights` (B,), 0 for rows that only fill it.
        """
        raise NotImplementedError

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the loss of each element of each term, float32, in the names and shapes of `loss_weights`."""
        raise NotImplementedError

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Give what is predicted, tensors with a leading batch dimension; the same in evaluation and in the export."""
        raise NotImplementedError

    def combined(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Give what several tasks of this kind predict together, or one alone, at an operating point if given."""
        (alone,) = predictions
        return alone

    def gathered(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Join what is predicted for the examples of each row, the same in evaluation and in the export.

        Args:
            predictions: of E examples, (E, ...) by name.
            rows: (E,) int, rising, of which row each is.
            num_rows: B.

        Returns:
            (B, ...) by name.
        """
        raise NotImplementedError

    def scores_of(self, features: dict[str, Any]) -> Any:
        """Compute the scores (B, C) of what it may predict of each row, of which the highest can be explained.

        None where it does not predict one thing of each row.
        """
        return None

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
    ) -> OperatingPoint:
        """Choose, by what is predicted for the validation rows, the score from which on a row counts as positive.

        Args:
            predictions, targets: of the N rows, by name.
            rows: as they came.
        """
        raise NotImplementedError

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Sum over the rows of a batch, for sums of which metrics are made; rows that fill the batch do not count.

        They are tensors whose shapes are the same for every batch: batches and replicas add them up.
        """
        return {}

    def of_each_row(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Return what metrics need of every single row, beside sums: tensors with a leading batch dimension.

        All of them stand in memory. So there should be none where sums do, and else as few as there can be.
        """
        return {}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Metrics over a whole split, by flat names.

        Args:
            statistics: the sums over all batches, float64.
            rows: what `of_each_row` gave of all N rows, and the raw texts that should have been written, by field.
        """
        raise NotImplementedError

    def encode(self, features: dict[str, Any]) -> Any:
        """Compute what a frozen encoder contributes to `call`: (B, D)."""
        raise NotImplementedError

    def depth_groups(self) -> list[list[keras.Variable]]:
        """Its trainable variables, grouped from the input upwards, the head last."""
        raise NotImplementedError
