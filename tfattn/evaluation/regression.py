"""The evaluation of predicted numbers, for texts or rows of a table: how far off they are, and where."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import doubts, importance, regression_plots
from tfattn.evaluation.evaluate import Findings
from tfattn.evaluation.listing import Listed
from tfattn.evaluation.members import Spread
from tfattn.evaluation.metrics import regression
from tfattn.evaluation.reliance import relied_on
from tfattn.evaluation.report import Headline, Panels, Picture, Section, Table, Text
from tfattn.evaluation.wording import between, count, number
from tfattn.features import PREDICTIONS, TARGET, TARGET_VALUES
from tfattn.trained.ensemble import TrainedEnsemble
from tfattn.trained.predictions import SplitPredictions

LARGEST = 20
QUANTILES = (0.5, 0.8, 0.9, 0.95, 0.99)
ERROR = "mean_absolute_error"


def report(ensemble: TrainedEnsemble, predictions: SplitPredictions) -> Findings:
    """Measures predicted numbers.

    Args:
        ensemble: whose head is a RegressionHead.
        predictions: `predictions` (N,) and the target `target_values` (N,).

    Returns:
        findings whose metrics are those of metrics.regression, of doubts.error_without, of several models those
        of Spread, and of tables those of Reliance.
    """
    true, predicted = predictions.targets[TARGET_VALUES], predictions.values[PREDICTIONS]
    head = ensemble.task.head
    listed = Listed.of(ensemble, predictions.rows, [TARGET])
    metrics = {**regression(true, predicted, guess=head.mean)}
    metrics |= doubts.error_without(predictions.leaked, np.abs(predicted - true))
    each = ((one.name, one.targets[TARGET_VALUES], one.values[PREDICTIONS]) for one in predictions.members)
    alone = {name: regression(*pair, guess=head.mean) for name, *pair in each}
    spread = Spread(ERROR, alone, is_fraction=False)
    metrics |= spread.metrics
    sections = [_against(true, predicted), _sizes(true, predicted), *spread.sections(metrics, predictions)]
    in_short = f"mean absolute error {number(metrics[ERROR])}, baseline {number(metrics[f'baseline_{ERROR}'])}"
    if ensemble.preprocessor.reads_columns:
        measure = importance.of_numbers(head.deviation)
        reliance = relied_on(ensemble, predictions, true, predicted=PREDICTIONS, measure=measure)
        metrics |= reliance.metrics
        sections.append(reliance.section())
        in_short = f"{in_short}; {reliance.in_short}"
    return Findings(
        question=f"which number does a {listed.thing} get?",
        measured=count(len(true), f"{predictions.split} {listed.thing}"),
        metrics=metrics,
        predictions=_lines(listed, true, predicted),
        headline=_headline(metrics, predictions, listed.thing, spread.facts, head.mean),
        sections=[*sections, _largest(listed, true, predicted)],
        thing=listed.thing,
        in_short=in_short,
        summary=_summary(metrics),
    )


def _headline(
    metrics: dict[str, float], predictions: SplitPredictions, thing: str, of_members: dict[str, str], guess: float
) -> Headline:
    interval = between(metrics[f"{ERROR}_low"], metrics[f"{ERROR}_high"], word="and")
    return Headline(
        metric=number(metrics[ERROR]),
        sentence=f"Predictions are off by {number(metrics[ERROR])} on average (mean absolute error), and explain "
        f"{metrics['r2']:.1%} of the variance.",
        doubts=[
            *doubts.of_numbers(metrics, guess),
            *doubts.of_unseen(predictions.leaked, metrics, split=predictions.split, thing=thing, metric=ERROR),
        ],
        remarks=[
            f"Always predicting {number(guess)}, the mean of the training rows, would be off by "
            f"{number(metrics[f'baseline_{ERROR}'])}.",
            f"With so many {thing}s the true mean error lies between {interval} (95% interval); a difference smaller "
            "than that may be chance.",
        ],
        facts={
            "R2": _with_interval(metrics, "r2"),
            "Pearson's correlation": _with_interval(metrics, "pearson"),
            "Spearman's rank correlation": _with_interval(metrics, "spearman"),
            "root of the mean squared error": number(metrics["root_mean_squared_error"]),
            **of_members,
        },
    )


def _against(true: np.ndarray, predicted: np.ndarray) -> Section:
    pictures = [
        Picture("predicted", svg(regression_plots.predicted_by_true(true, predicted)), "predicted by true numbers"),
        Picture("residuals", svg(regression_plots.residuals(true, predicted)), "errors by predicted numbers"),
    ]
    words = (
        "On the left, dots on the dashed line are predicted as they should be. On the right stand the same errors: "
        "where they all lie on one side, predictions of that size are too high or too low."
    )
    return Section("Predicted and true", [Text(words), Panels(pictures)])


def _sizes(true: np.ndarray, predicted: np.ndarray) -> Section:
    errors = np.abs(predicted - true)
    table = [[f"{fraction:.0%}", float(np.quantile(errors, fraction))] for fraction in QUANTILES]
    return Section("How large the errors are", [Table(["of all rows", "are off by at most"], table)])


def _largest(listed: Listed, true: np.ndarray, predicted: np.ndarray) -> Section:
    largest = np.argsort(-np.abs(predicted - true), kind="stable")[:LARGEST]
    numbers = {"true": true, "predicted": predicted, "off by": predicted - true}
    columns = {name: [float(value) for value in values[largest]] for name, values in numbers.items()}
    return Section(
        "The largest errors", [Text("At times it is the file that is wrong."), listed.table(largest, columns)]
    )


def _lines(listed: Listed, true: np.ndarray, predicted: np.ndarray) -> Iterator[dict[str, Any]]:
    for row, right, found in zip(listed.rows, true, predicted, strict=True):
        yield {**row, "prediction": float(f"{found:.7g}"), "error": float(f"{found - right:.6g}")}


def _summary(metrics: dict[str, float]) -> tuple[str, list[str], list[list[Any]]]:
    names = (ERROR, "root_mean_squared_error", "r2", "pearson", "spearman")
    table = [[name, metrics[name], metrics[f"{name}_low"], metrics[f"{name}_high"]] for name in names]
    return "Predictions", ["metric", "value", "95% from", "to"], table


def _with_interval(metrics: dict[str, float], name: str) -> str:
    return f"{metrics[name]:.4f} ({between(metrics[f'{name}_low'], metrics[f'{name}_high'])})"
