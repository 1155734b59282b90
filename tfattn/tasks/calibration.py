"""The `calibration:` section, and the calibrator of a trained model, which evaluation and export share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from keras import ops
from pydantic import Field

from tfattn.config.relations import OnlyWith
from tfattn.errors import ConfigError
from tfattn.features import (
    COMPLEMENTS,
    IN_PREDICTION_SET,
    INTERVAL_HIGH,
    INTERVAL_LOW,
    PREDICTIONS,
    UNCALIBRATED_SCORES,
)
from tfattn.tasks.conformal import interval_radius, score_thresholds
from tfattn.tasks.operating_point import Criterion
from tfattn.tasks.temperature import fit_temperature, scale


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Calibration of a trained model on rows that neither train nor measure it.

    The rows are those of `data.split.calibration`; without them the validation rows, if there are test rows. A change
    of this section evaluates and exports again, and does not train again.

    Args:
        temperature: whether a temperature scales the scores of labels, so that they are as high as the fraction of
            correct predictions.
        threshold: what the threshold of the positive label maximizes, of a multi-label task the threshold of all
            labels: "f1", "balanced_accuracy", or the lowest total of costs such as {false_positive: 1,
            false_negative: 5}. null predicts the label with the highest score.
        coverage: the fraction of new rows whose true value is covered, by a set of labels or by an interval of numbers;
            null predicts neither.
        by_class: whether sets cover this fraction of the rows of each label; otherwise of all rows together.

    Raises:
        ConfigError: nothing is calibrated.

    Example:
        calibration: {temperature: true, coverage: 0.9}
    """

    temperature: bool = False
    threshold: Criterion | None = None
    coverage: Annotated[float, Field(gt=0.0, lt=1.0)] | None = None
    by_class: Annotated[bool, OnlyWith("coverage")] = False

    def __post_init__(self):
        if not self.used:
            raise ConfigError(
                "nothing is calibrated",
                key="temperature",
                expected="temperature: true, a threshold or a coverage",
                received="none of them",
            )

    @property
    def used(self) -> tuple[str, ...]:
        """The keys that are set."""
        return tuple(key for key in ("temperature", "threshold", "coverage", "by_class") if getattr(self, key))


@dataclass(frozen=True, kw_only=True)
class Calibrator:
    """What was fitted on calibration rows, as a function of predictions; a part of the graph of exports.

    Args:
        split: the split of the rows.
        rows: the number of rows.
        temperature: the temperature of the scores; None leaves them unchanged.
        coverage: the requested coverage; None for neither sets nor intervals.
        by_class: whether the coverage is that of each label.
        score_thresholds: the score from which each of the C labels is in the prediction set.
        radius: the half width of intervals.
        bounds: the smallest and the largest number of an interval.
    """

    split: str
    rows: int
    temperature: float | None = None
    coverage: float | None = None
    by_class: bool = False
    score_thresholds: list[float] | None = None
    radius: float | None = None
    bounds: tuple[float, float] | None = None

    def __call__(self, predictions: dict[str, Any]) -> dict[str, Any]:
        """Calibrate combined predictions.

        Args:
            predictions: (B, ...) by name, see `Task.combine`.

        Returns:
            the predictions with calibrated `scores` and, as far as they are fitted, `uncalibrated_scores` (B, C),
            `in_prediction_set` (B, C) bool, `interval_low` and `interval_high` (B,) float32.
        """
        found = dict(predictions)
        if self.temperature is not None:
            found[UNCALIBRATED_SCORES] = found["scores"]
            if COMPLEMENTS in found:  # independent labels: each has a score and one minus the score
                pairs = scale(ops.stack([found[COMPLEMENTS], found["scores"]], axis=-1), self.temperature)
                found[COMPLEMENTS], found["scores"] = pairs[..., 0], pairs[..., 1]
            else:
                found["scores"] = scale(found["scores"], self.temperature)
        if self.score_thresholds is not None:
            thresholds = ops.convert_to_tensor(np.array(self.score_thresholds, "float32"))
            found[IN_PREDICTION_SET] = found["scores"] >= thresholds
        if self.radius is not None:
            ends = found[PREDICTIONS] - self.radius, found[PREDICTIONS] + self.radius
            ends = ends if self.bounds is None else [ops.clip(end, *self.bounds) for end in ends]
            found[INTERVAL_LOW], found[INTERVAL_HIGH] = ends
        return found


def fit_labels(
    options: Calibration, scores: np.ndarray, true: np.ndarray, *, labels: Sequence[str], split: str
) -> Calibrator:
    """Fit a calibrator of scores of labels.

    Args:
        options: the section.
        scores: (N, C) scores of the calibration rows, which sum to 1.
        true: (N,) ids of the true labels.
        labels: the C labels.
        split: the split of the rows.

    Raises:
        DataError: there are too few rows for the coverage.
    """
    temperature = fit_temperature(scores, true) if options.temperature else None
    thresholds = None
    if options.coverage is not None:
        scores = scores if temperature is None else ops.convert_to_numpy(scale(scores, temperature))
        thresholds = score_thresholds(scores, true, coverage=options.coverage, labels=labels, by_class=options.by_class)
    return Calibrator(
        split=split,
        rows=len(true),
        temperature=temperature,
        coverage=options.coverage,
        by_class=options.by_class,
        score_thresholds=thresholds,
    )


def fit_numbers(
    options: Calibration,
    predicted: np.ndarray,
    true: np.ndarray,
    *,
    bounds: tuple[float, float] | None,
    split: str,
) -> Calibrator:
    """Fit a calibrator of predicted numbers, (N,) each; see `fit_labels`."""
    radius = interval_radius(predicted, true, coverage=options.coverage)
    return Calibrator(split=split, rows=len(true), coverage=options.coverage, radius=radius, bounds=bounds)
