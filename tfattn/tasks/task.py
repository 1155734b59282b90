"""The contract of a task: the head, loss, predictions and metrics on top of a model."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from tfattn.tasks.calibration import Calibration, Calibrator
from tfattn.tasks.operating_point import Criterion, OperatingPoint

TRAINING_ONLY = "training_only/"  # the paths of weights that a trained model does not need begin with it


class Task(keras.Model):
    """A model with a head, a loss, metrics and predictions.

    `call(features, training=False)` takes the features of features.py and returns a dictionary of outputs. A task that
    depends on its targets takes the argument `targets`: the facts of the target class that its Kind in the catalog has.

    Attributes:
        encoder_is_frozen: whether the encoder is not trained, so that its output may be computed once and cached.
            `encode` computes the output, and `call` takes it as `encoded` instead of token ids.
        loss_names: the names of the loss terms, the keys of `loss_weights` and `loss_terms`.
        metric_names: the names of all metrics that `metrics_from` returns.
        monitor: the default metric by which checkpoints are compared, or "loss".
        monitor_mode: "max" or "min".
        labels: the classes in the order of their ids; None where there are none, or before they are read.
        supports_ensemble: whether the predictions of several models (seeds or folds) can be combined, see `combine`.
        has_operating_point: whether the validation rows choose a threshold after training, see
            `choose_operating_point`.
        calibratable: the keys of the `calibration` section that the task has, see `calibrate`.
        sum_reduction: whether the gradient of a batch is that of sum(loss * weight), so that the learning rate applies
            to each element of the loss (word2vec). By default the loss is a weighted mean, see `loss_weights`.
        whole_batch: the names of the outputs and batch features that `loss_terms` reads, if the loss of a row depends
            on the other rows of the batch. They are gathered from all replicas and micro-batches, (B, ...) each.
        predicts_rows: whether there is a prediction for each row. False in pre-training, where a record is a part of a
            row or of many rows, and only metrics are computed.
        precomputed: the names of targets that `precompute` computes once for each record.
        optional_layers: layers that published weights may lack: heads on top of the model, and unused layers.
    """

    encoder_is_frozen: bool = False
    loss_names: tuple[str, ...] = ()
    metric_names: tuple[str, ...] = ()
    monitor: str = "loss"
    monitor_mode: str = "min"
    labels: list[str] | None = None
    supports_ensemble: bool = False
    has_operating_point: bool = False
    calibratable: tuple[str, ...] = ()
    sum_reduction: bool = False
    whole_batch: tuple[str, ...] = ()
    predicts_rows: bool = True
    precomputed: tuple[str, ...] = ()
    optional_layers: Sequence[keras.layers.Layer] = ()

    def loss_weights(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the weight of each element of each loss term, float32; 0 for elements that do not count.

        The weights depend on the batch alone, so that their sums over all micro-batches are known before the backward
        pass. The loss of a batch is the sum over its terms of sum(loss * weight) / sum(weight), independent of how the
        batch is divided. A term whose weights are all 0 adds nothing.

        Args:
            batch: inputs, targets, and `weights` (B,), 0 for rows that only fill the batch.
        """
        raise NotImplementedError

    def loss_terms(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the loss of each element of each term, float32, with the names and shapes of `loss_weights`."""
        raise NotImplementedError

    def predictions(self, outputs: dict[str, Any]) -> dict[str, Any]:
        """Compute the predictions, tensors with a leading batch axis; evaluation and export share them."""
        raise NotImplementedError

    def combine(
        self, predictions: Sequence[dict[str, Any]], operating_point: OperatingPoint | None = None
    ) -> dict[str, Any]:
        """Combine the predictions of several models, or of a single model, at an operating point if given."""
        (single,) = predictions
        return single

    def merge_examples(self, predictions: dict[str, Any], rows: Any, num_rows: Any) -> dict[str, Any]:
        """Merge the predictions for the examples of each row; evaluation and export share this method.

        Args:
            predictions: predictions for E examples, (E, ...) by name.
            rows: (E,) int, ascending, the row of each example.
            num_rows: B.

        Returns:
            (B, ...) by name.
        """
        raise NotImplementedError

    def scores_to_explain(self, features: dict[str, Any]) -> Any:
        """Compute the scores (B, C) of each row; the highest score can be explained by gradients.

        None where there is no single prediction for a row.
        """
        return None

    def choose_operating_point(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        rows: Sequence[dict[str, Any]],
        criterion: Criterion | None = None,
    ) -> OperatingPoint:
        """Choose the threshold at which a row counts as positive, from the predictions for rows without training rows.

        Args:
            predictions, targets: arrays of N rows, by name.
            rows: the N raw rows.
            criterion: of the `calibration` section; None for the criterion of the task.
        """
        raise NotImplementedError

    def calibrate(
        self,
        predictions: dict[str, np.ndarray],
        targets: dict[str, np.ndarray],
        *,
        options: Calibration,
        split: str,
    ) -> Calibrator:
        """Fit a calibrator to the predictions for the calibration rows.

        Args:
            predictions, targets: arrays of N rows, by name.
            options: the `calibration` section, with keys of `calibratable`.
            split: the split of the rows.
        """
        raise NotImplementedError

    def statistics(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the sums over a batch from which metrics are computed; rows that fill the batch do not count.

        The shapes are the same for every batch: batches and replicas are added up.
        """
        return {}

    def per_example(self, outputs: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any]:
        """Compute the values of each row that metrics need in addition to sums, tensors with a leading batch axis.

        The values of all rows are kept in memory, so prefer `statistics`.
        """
        return {}

    def metrics_from(self, statistics: dict[str, Any], rows: dict[str, np.ndarray]) -> dict[str, float]:
        """Compute the metrics of a whole split, by flat names.

        Args:
            statistics: the sums over all batches, float64.
            rows: the values of `per_example` for all N rows, and the raw reference texts by field.
        """
        raise NotImplementedError

    def precompute(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Compute targets that do not change in training, from the initial weights or those of another model.

        They are computed once for each record, without dropout, and stored; batches of all later steps have them.

        Returns:
            (B, ...) float32 for each name of `precomputed`.
        """
        raise NotImplementedError

    def encode(self, features: dict[str, Any]) -> Any:
        """Compute the output of a frozen encoder that `call` takes as `encoded`: (B, D)."""
        raise NotImplementedError

    def depth_groups(self) -> list[list[keras.Variable]]:
        """Group the trainable variables from the input upwards, the head last."""
        raise NotImplementedError
