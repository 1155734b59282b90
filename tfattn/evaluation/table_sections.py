"""The sections of the report of a classifier of table rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots, table_plots, warnings
from tfattn.evaluation.permutation_importance import Importance
from tfattn.evaluation.report import Headline, Panels, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import MAX_ERRORS_SHOWN, LabelPredictions
from tfattn.evaluation.wording import between, count, percent, percents, shown_count
from tfattn.features import ID, LABEL
from tfattn.tasks.operating_point import OperatingPoint

ROW = "row"
MAX_IDENTIFIERS = 5  # in the table of errors
SHOWN_COLUMNS = 3  # of a wrong row
MAX_ROWS = 30  # longer tables start folded
MAX_CHARACTERS = 60


@dataclass(frozen=True, kw_only=True)
class PredictedTableRows(LabelPredictions):
    """The rows of a table with true and predicted labels.

    Args:
        rows: N raw rows: `row` (file:line), `label`, the K columns, and identifiers.
        true, predicted_ids, scores, labels, leaked: see LabelPredictions.
        columns: the K input columns of the model, in order.
        positive: id of the positive label; None if there is none.
        essential: (N, E) the essential features, if the model has them.
        attention: (N, K) the attention to each column, if the model returns it.
    """

    columns: Sequence[str]
    positive: int | None
    essential: np.ndarray | None = None
    attention: np.ndarray | None = None

    @property
    def probability(self) -> np.ndarray:
        """(N,) the score of the positive label, or of the predicted label if there is none."""
        return self.scores[
            np.arange(len(self.predicted_ids)), self.predicted_ids if self.positive is None else self.positive
        ]

    @property
    def identifiers(self) -> list[str]:
        """The columns that the model does not read, which identify a row."""
        return [name for name in self.rows[0] if name not in {ROW, LABEL, *self.columns}]

    @property
    def has_both_kinds(self) -> bool:
        """Whether there are positive and negative rows."""
        return self.positive is not None and 0 < np.sum(self.true == self.positive) < len(self.true)


def headline(
    predicted: PredictedTableRows, metrics: dict[str, float], split: str, of_members: dict[str, str]
) -> Headline:
    """Return the headline: accuracy, and sensitivity and specificity of a positive label."""
    most_frequent = predicted.labels[np.bincount(predicted.true, minlength=len(predicted.labels)).argmax()]
    facts = {"errors": f"{np.sum(~predicted.right):,} of {len(predicted.rows):,}"}
    found = []
    if predicted.positive is None:
        facts["macro F1"] = percent(metrics["macro_f1"])
    else:
        label, positive = predicted.labels[predicted.positive], predicted.true == predicted.positive
        is_predicted = predicted.predicted_ids == predicted.positive
        found = [
            f"{np.sum(positive & is_predicted):,} of {count(positive.sum(), 'row')} of the label “{label}” were "
            f"found: a "
            f"sensitivity of {_with_interval(metrics, 'sensitivity')}.",
            f"{np.sum(~positive & is_predicted):,} of {count(np.sum(~positive), 'other row')} were predicted as "
            f"“{label}”: a "
            f"specificity of {_with_interval(metrics, 'specificity')}.",
        ]
        area = between(metrics["roc_auc_low"], metrics["roc_auc_high"])
        facts |= {"ROC AUC": f"{metrics['roc_auc']:.4f} ({area})"}
    return Headline(
        metric=percent(metrics["accuracy"]),
        sentence=f"{predicted.right.sum():,} of {count(len(predicted.rows), 'row')} have the correct label: an "
        f"accuracy "
        f"of {_with_interval(metrics, 'accuracy')}.",
        warnings=[
            *warnings.of_labels(metrics, predicted.labels, predicted.true, predicted.predicted_ids),
            *warnings.of_unseen(predicted.leaked, metrics, split=split, unit="row"),
        ],
        remarks=[
            *found,
            f"Baseline: always predicting “{most_frequent}” has an accuracy of "
            f"{percent(metrics['baseline_accuracy'])}.",
            "Brackets are 95% confidence intervals. Smaller differences may be chance.",
        ],
        facts=facts | of_members,
    )


def confused(predicted: PredictedTableRows, metrics: dict[str, float]) -> Section:
    """Return the confusion matrix and, without a positive label, the metrics per label."""
    tables = [predicted.table(metrics)] if predicted.positive is None else []
    return Section("Confusion matrix", [*predicted.confusion_matrix(), *tables])


def curves(predicted: PredictedTableRows, metrics: dict[str, float], operating_point: OperatingPoint | None) -> Section:
    """Return the ROC and precision-recall curves of the positive label, with the operating point."""
    label, positive = predicted.labels[predicted.positive], predicted.true == predicted.positive
    if operating_point is None:
        explanation = f"“{label}” is predicted if it has the highest score."
        words = "highest score"
    else:
        before, threshold = operating_point.metrics, _threshold(operating_point.threshold)
        explanation = f"“{label}” is predicted if its score is at least {threshold}."
        if before:
            explanation += (
                f" This operating point was selected on {operating_point.split} rows; it had a sensitivity of "
                f"{_with_interval(before, 'sensitivity')} and a specificity of {_with_interval(before, 'specificity')}."
            )
        words = f"operating point {threshold}"
    scores, found = predicted.probability, metrics["sensitivity"]
    roc = table_plots.roc(scores, positive, (1 - metrics["specificity"], found), words=words)
    precision = metrics[f"precision/{label}"]
    precision_recall = table_plots.precision_recall(scores, positive, (found, precision), words=words)
    curves = [
        Picture("roc", svg(roc), "ROC curve with the operating point"),
        Picture("precision_recall", svg(precision_recall), "precision-recall curve with the operating point"),
    ]
    return Section(
        "Thresholds",
        [
            Text(f"{explanation} A lower threshold finds more positive rows, and has more false alarms."),
            Panels(curves),
            Text(
                f"The area under the ROC curve is the probability that a “{label}” row scores above another row: "
                f"{metrics['roc_auc']:.4f} (95% interval {between(metrics['roc_auc_low'], metrics['roc_auc_high'])})."
            ),
        ],
    )


def mistakes(predicted: PredictedTableRows, whole: Importance) -> Section:
    """Return a table of the errors with the lowest scores of the true label."""
    wrong = np.flatnonzero(~predicted.right)
    of_truth = predicted.scores[wrong, predicted.true[wrong]]
    worst = wrong[np.argsort(of_truth, kind="stable")][:MAX_ERRORS_SHOWN]
    if not len(worst):
        return Section("Most confident errors", [Text("There are no errors.")])
    identifiers = sorted(predicted.identifiers, key=lambda name: name != ID)[:MAX_IDENTIFIERS]
    most = "columns with the most attention" if predicted.attention is not None else "values of important columns"
    has_top_columns = predicted.attention is not None or len(whole.important)
    files = {predicted.rows[number][ROW].rpartition(":")[0] for number in worst}
    heads = [
        *([", ".join(identifiers)] if identifiers else []),
        "error",
        "true label's score",
        *([most] if has_top_columns else []),
        "line" if len(files) == 1 else "row",
    ]
    table = [
        [
            *([", ".join(_short(predicted.rows[number][name]) for name in identifiers)] if identifiers else []),
            " predicted as ".join(predicted.labels[ids[number]] for ids in (predicted.true, predicted.predicted_ids)),
            percent(predicted.scores[number, predicted.true[number]]),
            *([_top_columns(predicted, whole, number)] if has_top_columns else []),
            predicted.rows[number][ROW].rpartition(":")[2] if len(files) == 1 else predicted.rows[number][ROW],
        ]
        for number in worst
    ]
    words = f"{shown_count(len(worst), len(wrong))}, the lowest score first. The label in the file may be wrong."
    return Section("Most confident errors", [Text(words), Table(heads, table)])


def _top_columns(predicted: PredictedTableRows, whole: Importance, number: int) -> str:
    if predicted.attention is None:
        positions, notes = whole.important[:SHOWN_COLUMNS], [""] * len(predicted.columns)
    else:
        weights = predicted.attention[number]
        positions, notes = (
            np.argsort(-weights, kind="stable")[:SHOWN_COLUMNS],
            [f" ({weight:.0%})" for weight in weights],
        )
    names = [predicted.columns[index] for index in positions]
    return ", ".join(
        f"{name} = {_short(predicted.rows[number][name])}{notes[index]}"
        for name, index in zip(names, positions, strict=True)
    )


def essential(predicted: PredictedTableRows, models: int) -> Section:
    """Return the distributions of the essential features per label."""
    numbers = count(predicted.essential.shape[1], "number")
    words = (
        f"The model compresses a row to {numbers}, from which it predicts the label. "
        "A feature whose values differ between labels separates them alone. "
        "The values of all rows are in results.tsv."
    )
    if models > 1:
        words += f" These are the means over {models} members."
    picture = table_plots.spreads(predicted.essential, predicted.true, predicted.labels)
    return Section(
        "Essential features",
        [Text(words), Picture("essential", svg(picture), "values of each essential feature by true label")],
    )


def certainty(predicted: PredictedTableRows, groups: Sequence[tuple[int, float, float]]) -> Section:
    """Return the reliability diagram of groups of metrics.calibration."""
    names = calibration_axes(predicted)
    return Section(
        "Calibration",
        [
            Text("Scores are calibrated if the dots are on the dashed line."),
            Picture("calibration", svg(plots.reliability(groups, **names)), "fraction of correct predictions by score"),
        ],
    )


def calibration_axes(predicted: PredictedTableRows) -> dict[str, str]:
    """Return the labels of the axes of a reliability diagram, for `plots.reliability`."""
    if predicted.positive is None:
        return {}
    label = _short(predicted.labels[predicted.positive])
    return {"score": f"score of “{label}”", "fraction": f"fraction that is “{label}”"}


def _with_interval(metrics: dict[str, float], name: str) -> str:
    return f"{percent(metrics[name])} ({percents(metrics[f'{name}_low'], metrics[f'{name}_high'])})"


def _threshold(threshold: float) -> str:
    """Format a threshold with enough digits to differ from 0 and 1."""
    return f"{threshold:.4g}" if threshold < 0.9995 else f"{threshold:.7g}"


def _short(value: str) -> str:
    return value if len(value) <= MAX_CHARACTERS else f"{value[: MAX_CHARACTERS - 1]}…"
