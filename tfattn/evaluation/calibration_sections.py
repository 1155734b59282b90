"""Calibration in reports: scores before and after temperature scaling, and the coverage of sets and intervals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots
from tfattn.evaluation.metrics import brier_score, calibration_error, log_loss
from tfattn.evaluation.report import Panels, Picture, Section, Table, Text
from tfattn.evaluation.wording import between, count, number, percent, percents
from tfattn.features import (
    IN_PREDICTION_SET,
    INTERVAL_HIGH,
    INTERVAL_LOW,
    PREDICTION_SET,
    PREDICTIONS,
    UNCALIBRATED_SCORES,
)
from tfattn.tasks.calibration import Calibrator
from tfattn.tasks.conformal import rank
from tfattn.tasks.intervals import counted_fraction
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

NUM_GROUPS = 4  # groups of rows by their predicted number
Groups = Sequence[tuple[int, float, float]]
METRICS = {
    "calibration_error": "expected calibration error",
    "log_loss": "log loss (negative log likelihood)",
    "brier_score": "Brier score",
}
CONDITIONAL = (
    "The coverage is that of all rows together, and holds if new rows are like the calibration rows. Some kinds of "
    "rows may be covered less often."
)
BY_CLASS = "The coverage holds for the rows of each label, if new rows are like the calibration rows."


@dataclass(frozen=True)
class CalibrationReport:
    """The results of a calibration; empty without a calibration.

    Attributes:
        metrics: by flat names.
        sections: of the report.
        facts: for the headline.
        added: further keys of each row's line in predictions.jsonl.
    """

    metrics: dict[str, float] = field(default_factory=dict)
    sections: Sequence[Section] = ()
    facts: dict[str, str] = field(default_factory=dict)
    added: Sequence[dict[str, Any]] = ()

    def lines(self, lines: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Add the sets or intervals to the lines of predictions.jsonl."""
        if not self.added:
            return lines
        return ({**line, **added} for line, added in zip(lines, self.added, strict=True))


def of_labels(
    ensemble: TrainedEnsemble,
    predictions: SplitPredictions,
    true: np.ndarray,
    *,
    groups: Callable[[np.ndarray], Groups],
    unit: str,
    axes: Mapping[str, str] | None = None,
) -> CalibrationReport:
    """Report the calibration of scores, and the coverage of prediction sets.

    Metrics are `temperature`, those of METRICS, each with `NAME_uncalibrated`, and those of `_coverage`, with
    `set_size`, the mean number of labels, `singletons` and `empty_sets`, fractions of rows, and `coverage/LABEL`.

    Args:
        ensemble: the trained models, and their calibrator, if there is one.
        predictions: `scores` (N, C), maybe with `uncalibrated_scores` (N, C) and `in_prediction_set` (N, C).
        true: (N,) ids of the true labels, or (N, C) bool for label sets.
        groups: computes the groups of a reliability diagram from scores.
        unit: the name of a row.
        axes: the labels of the axes of the diagram, see `plots.reliability`.
    """
    calibrator: Calibrator | None = ensemble.calibrator
    values = predictions.values
    if calibrator is None:
        return CalibrationReport()
    metrics, sections, facts, added = {}, [], {}, ()
    if calibrator.temperature is not None:
        metrics, scaled = _scaled(calibrator, predictions, true, groups, unit, axes or {})
        sections.append(scaled)
    if calibrator.coverage is not None:
        inside = values[IN_PREDICTION_SET]
        found = _set_metrics(calibrator, inside, true, ensemble.labels)
        metrics |= found
        sections.append(_sets(calibrator, found, inside, true, ensemble.labels, unit))
        facts = {"prediction sets": f"{_covered(found)}, mean size {number(found['set_size'])}"}
        order = np.argsort(-values["scores"], axis=1, kind="stable")
        added = [
            {PREDICTION_SET: [ensemble.labels[label] for label in ranked if mask[label]]}
            for ranked, mask in zip(order, inside, strict=True)
        ]
    return CalibrationReport(metrics, sections, facts, added)


def of_numbers(
    ensemble: TrainedEnsemble, predictions: SplitPredictions, true: np.ndarray, *, unit: str
) -> CalibrationReport:
    """Report the coverage of prediction intervals: the metrics of `_coverage`, and `interval_width`, their mean width.

    Args:
        ensemble: the trained models, and their calibrator, if there is one.
        predictions: `predictions` (N,), maybe with `interval_low` and `interval_high` (N,).
        true: (N,) true numbers.
        unit: the name of a row.
    """
    calibrator: Calibrator | None = ensemble.calibrator
    if calibrator is None:
        return CalibrationReport()
    low, high = (predictions.values[name].astype(np.float64) for name in (INTERVAL_LOW, INTERVAL_HIGH))
    inside = (low <= true) & (true <= high)
    metrics = {**_coverage(calibrator, inside), "interval_width": float((high - low).mean())}
    facts = {"prediction intervals": f"{_covered(metrics)}, {number(metrics['interval_width'])} wide on average"}
    order = np.argsort(predictions.values[PREDICTIONS], kind="stable")
    table = [
        [between(*predictions.values[PREDICTIONS][[rows[0], rows[-1]]], decimals=2), *_row(inside[rows])]
        for rows in np.array_split(order, NUM_GROUPS)
        if len(rows)
    ]
    parts = [
        Text(f"{_sentence(calibrator, metrics, unit)} The intervals are {number(metrics['interval_width'])} wide."),
        Table(["predicted", f"{unit}s", "coverage", "95% interval"], table),
        Text(CONDITIONAL),
    ]
    ends = zip(low, high, strict=True)
    added = [{INTERVAL_LOW: float(f"{a:.7g}"), INTERVAL_HIGH: float(f"{b:.7g}")} for a, b in ends]
    return CalibrationReport(metrics, [Section("Prediction intervals", parts)], facts, added)


def _scaled(
    calibrator: Calibrator,
    predictions: SplitPredictions,
    true: np.ndarray,
    groups: Callable[[np.ndarray], Groups],
    unit: str,
    axes: Mapping[str, str],
) -> tuple[dict[str, float], Section]:
    """Return the metrics and the section of temperature scaling."""
    scores = {"before": predictions.values[UNCALIBRATED_SCORES], "after": predictions.values["scores"]}
    by_time = {
        when: {
            "calibration_error": calibration_error(groups(found)),
            "log_loss": log_loss(true, found),
            "brier_score": brier_score(true, found),
        }
        for when, found in scores.items()
    }
    before, after = by_time.values()
    metrics = {"temperature": calibrator.temperature, **after}
    metrics |= {f"{name}_uncalibrated": value for name, value in before.items()}
    figures = {
        when: plots.reliability(groups(found), title=when.capitalize(), **axes) for when, found in scores.items()
    }
    pictures = [
        Picture(f"reliability_{when}", svg(figure), f"fraction of correct predictions by score, {when} scaling")
        for when, figure in figures.items()
    ]
    rows = count(calibrator.rows, f"{calibrator.split} {unit}")
    direction = "lowers high scores" if calibrator.temperature > 1 else "raises high scores"
    words = (
        f"The logits are divided by a temperature of {number(calibrator.temperature)}, which {direction} and keeps "
        f"their order. It minimizes the log loss of {rows}."
    )
    if calibrator.temperature == 1:
        words = f"The scores are unchanged: all of the {rows} are predicted correctly, and have no best temperature."
    parts = [
        Text(f"{words} The table and the diagrams are about {count(len(true), f'{predictions.split} {unit}')}."),
        Table(["", "before", "after"], [[words, before[name], after[name]] for name, words in METRICS.items()]),
        Panels(pictures),
    ]
    return metrics, Section("Temperature scaling", parts)


def _set_metrics(
    calibrator: Calibrator, inside: np.ndarray, true: np.ndarray, labels: Sequence[str]
) -> dict[str, float]:
    covered, sizes = inside[np.arange(len(true)), true], inside.sum(axis=1)
    by_label = {
        f"coverage/{label}": float(covered[true == index].mean())
        for index, label in enumerate(labels)
        if (true == index).any()
    }
    return {
        **_coverage(calibrator, covered),
        "set_size": float(sizes.mean()),
        "singletons": float((sizes == 1).mean()),
        "empty_sets": float((sizes == 0).mean()),
        **by_label,
    }


def _sets(
    calibrator: Calibrator,
    metrics: dict[str, float],
    inside: np.ndarray,
    true: np.ndarray,
    labels: Sequence[str],
    unit: str,
) -> Section:
    covered, sizes = inside[np.arange(len(true)), true], inside.sum(axis=1)
    by_label = [
        [label, *_row(covered[true == index]), float(sizes[true == index].mean())]
        for index, label in enumerate(labels)
        if (true == index).any()
    ]
    by_size = [[int(size), *_row(covered[sizes == size]), percent((sizes == size).mean())] for size in np.unique(sizes)]
    empty = (
        f" {percent(metrics['empty_sets'])} are empty: no label has a high enough score."
        if metrics["empty_sets"]
        else ""
    )
    columns = [f"{unit}s", "coverage", "95% interval"]
    parts = [
        Text(
            f"{_sentence(calibrator, metrics, unit)} The mean number of labels in a set is "
            f"{number(metrics['set_size'])}; {percent(metrics['singletons'])} have a single label.{empty}"
        ),
        Table(["true label", *columns, "mean size"], by_label, f"All {len(by_label)} labels" * (len(by_label) > 30)),
        Table(["labels in the set", *columns, f"fraction of the {unit}s"], by_size),
        Text(BY_CLASS if calibrator.by_class else CONDITIONAL),
    ]
    return Section("Prediction sets", parts)


def _coverage(calibrator: Calibrator, covered: np.ndarray) -> dict[str, float]:
    """Return `coverage`, `coverage_low`, `coverage_high` (95 %) and `requested_coverage`."""
    measured = counted_fraction("coverage", int(covered.sum()), len(covered))
    return measured | {"requested_coverage": float(calibrator.coverage)}


def _row(covered: np.ndarray) -> list[Any]:
    found = counted_fraction("", int(covered.sum()), len(covered))
    return [len(covered), percent(found[""]), percents(found["_low"], found["_high"])]


def _covered(metrics: dict[str, float]) -> str:
    return f"coverage {percent(metrics['coverage'])} (requested: {_requested(metrics)})"


def _requested(metrics: dict[str, float]) -> str:
    return f"{100 * metrics['requested_coverage']:.6g}%"


def _sentence(calibrator: Calibrator, metrics: dict[str, float], unit: str) -> str:
    """State the requested and the measured coverage, and how it varies with the calibration rows."""
    measured = (
        f"{percent(metrics['coverage'])} of the {unit}s are covered "
        f"({percents(metrics['coverage_low'], metrics['coverage_high'])}); {_requested(metrics)} were requested."
    )
    if not calibrator.rows or calibrator.by_class:
        return measured
    from scipy.stats import beta  # slow to import

    covered = rank(calibrator.rows, calibrator.coverage)
    low, high = beta.interval(0.95, covered, calibrator.rows + 1 - covered)
    rows = count(calibrator.rows, f"{calibrator.split} {unit}")
    return (
        f"{measured} Calibrated on {rows}, the coverage of all new {unit}s is between "
        f"{percents(low, high, word='and')} for 95% of such samples."
    )
