"""The evaluation of regression, for texts or rows of a table."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tfattn.drawing.colours import BLUE, SOFT
from tfattn.drawing.figures import new_figure, styled, svg
from tfattn.evaluation import calibration_sections, permutation_importance, warnings
from tfattn.evaluation.evaluate import TaskReport
from tfattn.evaluation.feature_importance import measure_importance
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import regression
from tfattn.evaluation.plots import plain_numbers
from tfattn.evaluation.report import Headline, Panels, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import RowFormat
from tfattn.evaluation.wording import between, count, number
from tfattn.features import PREDICTIONS, TARGET, TARGET_VALUES
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

MAX_ERRORS_SHOWN = 20
MAX_DOTS = 2000  # more rows are thinned out, evenly by true value
QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.99)
ERROR = "mean_absolute_error"


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> TaskReport:
    """Evaluate a regression model.

    Args:
        ensemble: the trained models of a Regression.
        predictions: `predictions` (N,) and the target `target_values` (N,).

    Returns:
        a report whose metrics are those of metrics.regression, of warnings.error_without, with a calibration those of
        calibration_sections.of_numbers, for several models those of Spread, and for tables those of FeatureImportance.
    """
    true, predicted = predictions.targets[TARGET_VALUES], predictions.values[PREDICTIONS]
    task = ensemble.task
    row_format = RowFormat.of(ensemble, predictions.rows, [TARGET])
    metrics = {**regression(true, predicted, guess=task.mean)}
    metrics |= warnings.error_without(predictions.leaked, np.abs(predicted - true))
    each = ((member.name, member.targets[TARGET_VALUES], member.values[PREDICTIONS]) for member in predictions.members)
    alone = {name: regression(*pair, guess=task.mean) for name, *pair in each}
    spread = Spread(ERROR, alone, is_fraction=False)
    metrics |= spread.metrics
    calibrated = calibration_sections.of_numbers(ensemble, predictions, true, unit=row_format.unit)
    metrics |= calibrated.metrics
    sections = [_against(true, predicted), _sizes(true, predicted), *calibrated.sections]
    sections += spread.sections(metrics, predictions)
    summary = f"mean absolute error {number(metrics[ERROR])}, baseline {number(metrics[f'baseline_{ERROR}'])}"
    if ensemble.preprocessor.reads_columns:
        measure = permutation_importance.of_numbers(task.deviation)
        importances = measure_importance(ensemble, predictions, true, predicted=PREDICTIONS, measure=measure)
        metrics |= importances.metrics
        sections.append(importances.section())
        summary = f"{summary}; {importances.summary}"
    return TaskReport(
        question=f"what is the number of a {row_format.unit}?",
        measured=count(len(true), f"{predictions.split} {row_format.unit}"),
        metrics=metrics,
        predictions=calibrated.lines(_lines(row_format, true, predicted)),
        headline=_headline(metrics, predictions, row_format.unit, spread.facts | calibrated.facts, task.mean),
        sections=[*sections, _largest(row_format, true, predicted)],
        unit=row_format.unit,
        summary=summary,
        console_table=_console_table(metrics),
    )


def _headline(
    metrics: dict[str, float], predictions: SplitPredictions, unit: str, of_members: dict[str, str], guess: float
) -> Headline:
    interval = between(metrics[f"{ERROR}_low"], metrics[f"{ERROR}_high"])
    return Headline(
        metric=number(metrics[ERROR]),
        sentence=f"Predictions are off by {number(metrics[ERROR])} on average (mean absolute error), and explain "
        f"{metrics['r2']:.1%} of the variance.",
        warnings=[
            *warnings.of_numbers(metrics, guess),
            *warnings.of_unseen(predictions.leaked, metrics, split=predictions.split, unit=unit, metric=ERROR),
        ],
        remarks=[
            f"Baseline: always predicting {number(guess)}, the mean target, has a mean error of "
            f"{number(metrics[f'baseline_{ERROR}'])}.",
            f"The 95% confidence interval of the mean error is {interval}. Smaller differences may be chance.",
        ],
        facts={
            "R2": _with_interval(metrics, "r2"),
            "Pearson's correlation": _with_interval(metrics, "pearson"),
            "Spearman's rank correlation": _with_interval(metrics, "spearman"),
            "root mean squared error": number(metrics["root_mean_squared_error"]),
            **of_members,
        },
    )


def _against(true: np.ndarray, predicted: np.ndarray) -> Section:
    pictures = [
        Picture("predicted", svg(predicted_by_true(true, predicted)), "predicted by true numbers"),
        Picture("residuals", svg(residuals(true, predicted)), "errors by predicted numbers"),
    ]
    words = (
        "Left: correct predictions are on the dashed line. Right: the errors by predicted value; a range with all "
        "dots on "
        "one side is predicted too high or too low."
    )
    return Section("Predicted values and residuals", [Text(words), Panels(pictures)])


def _sizes(true: np.ndarray, predicted: np.ndarray) -> Section:
    errors = np.abs(predicted - true)
    table = [[f"{fraction:.0%}", float(np.quantile(errors, fraction))] for fraction in QUANTILES]
    return Section("Quantiles of the absolute error", [Table(["quantile", "absolute error"], table)])


def _largest(row_format: RowFormat, true: np.ndarray, predicted: np.ndarray) -> Section:
    largest = np.argsort(-np.abs(predicted - true), kind="stable")[:MAX_ERRORS_SHOWN]
    numbers = {"true": true, "predicted": predicted, "error": predicted - true}
    columns = {name: [float(value) for value in values[largest]] for name, values in numbers.items()}
    return Section("Largest errors", [Text("The number in the file may be wrong."), row_format.table(largest, columns)])


def _lines(row_format: RowFormat, true: np.ndarray, predicted: np.ndarray) -> Iterator[dict[str, Any]]:
    for row, right, found in zip(row_format.rows, true, predicted, strict=True):
        yield {**row, "prediction": float(f"{found:.7g}"), "error": float(f"{found - right:.6g}")}


def _console_table(metrics: dict[str, float]) -> tuple[str, list[str], list[list[Any]]]:
    names = (ERROR, "root_mean_squared_error", "r2", "pearson", "spearman")
    table = [[name, metrics[name], metrics[f"{name}_low"], metrics[f"{name}_high"]] for name in names]
    return "Predictions", ["metric", "value", "95% from", "to"], table


def _with_interval(metrics: dict[str, float], name: str) -> str:
    return f"{metrics[name]:.4f} ({between(metrics[f'{name}_low'], metrics[f'{name}_high'])})"


@styled
def predicted_by_true(true: np.ndarray, predicted: np.ndarray) -> Figure:
    """Plot predicted against true numbers, (N,) each, with the identity line."""
    true, predicted = _thin_out(true, predicted)
    figure = new_figure(4.6, 4.2)
    axes = figure.add_subplot()
    ends = [min(true.min(), predicted.min()), max(true.max(), predicted.max())]
    axes.plot(ends, ends, color=SOFT, linewidth=1, linestyle="--", label="perfect prediction")
    axes.scatter(true, predicted, s=12, color=BLUE, alpha=_opacity(true), linewidths=0)
    axes.set_title("Predicted by true")
    axes.set_xlabel("true")
    axes.set_ylabel("predicted")
    _plain(axes)
    axes.legend(fontsize=9, loc="upper left")
    return figure


@styled
def residuals(true: np.ndarray, predicted: np.ndarray) -> Figure:
    """Plot errors against predicted numbers, (N,) each."""
    true, predicted = _thin_out(true, predicted)
    figure = new_figure(4.6, 4.2)
    axes = figure.add_subplot()
    axes.axhline(0, color=SOFT, linewidth=1, linestyle="--")
    axes.scatter(predicted, predicted - true, s=12, color=BLUE, alpha=_opacity(true), linewidths=0)
    axes.set_title("Errors by prediction")
    axes.set_xlabel("predicted")
    axes.set_ylabel("predicted - true")
    _plain(axes)
    return figure


def _thin_out(true: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    positions = np.argsort(true, kind="stable")[np.linspace(0, len(true) - 1, min(MAX_DOTS, len(true))).astype(int)]
    return true[positions], predicted[positions]


def _opacity(values: np.ndarray) -> float:
    return 0.7 if len(values) < 300 else 0.3


def _plain(axes) -> None:
    axes.xaxis.set_major_formatter(plain_numbers())
    axes.yaxis.set_major_formatter(plain_numbers())
