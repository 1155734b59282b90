"""The sections of a report on predictions for rows of a table: what was found, what was missed, what it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfattn.drawing.figures import svg
from tfattn.evaluation import plots, tabular_plots, warnings
from tfattn.evaluation.importance import Importance
from tfattn.evaluation.report import Headline, Panels, Picture, Section, Table, Text
from tfattn.evaluation.row_predictions import WORST_MISTAKES, LabelPredictions
from tfattn.evaluation.wording import between, count, percent, percents, shown_of
from tfattn.features import LABEL
from tfattn.tasks.operating_point import OperatingPoint

ROW = "row"
MAX_IDENTIFIERS = 5  # that the table of mistakes shows
SHOWN_COLUMNS = 3  # of a mistaken row
MAX_ROWS = 30  # of longer tables, which start folded
MAX_CHARACTERS = 60


@dataclass(frozen=True, kw_only=True)
class PredictedRows(LabelPredictions):
    """Every row of a table with its true and its predicted label.

    Args:
        rows: N raw rows: `row` (file:line), `label`, the K columns; all else identifies the row.
        true, given, scores, labels, leaked: see LabelPredictions.
        columns: the K columns that the model reads, in its order.
        positive: id of the label that is looked for; None if there is none.
        essential: (N, E) the numbers that alone decided, of a model that has them.
        attention: (N, K) the attention to each column, of a model that returns it.
    """

    columns: Sequence[str]
    positive: int | None
    essential: np.ndarray | None = None
    attention: np.ndarray | None = None

    @property
    def probability(self) -> np.ndarray:
        """(N,) the score of the positive label; where there is none, that of the given label."""
        return self.scores[np.arange(len(self.given)), self.given if self.positive is None else self.positive]

    @property
    def identifiers(self) -> list[str]:
        """The names of what identifies a row: all that the model does not read."""
        return [name for name in self.rows[0] if name not in {ROW, LABEL, *self.columns}]

    @property
    def has_both_kinds(self) -> bool:
        """Whether there are positive rows and others."""
        return self.positive is not None and 0 < np.sum(self.true == self.positive) < len(self.true)


def headline(predicted: PredictedRows, metrics: dict[str, float], split: str, of_members: dict[str, str]) -> Headline:
    """How often the right label was given, and with a positive label what was found and what was left alone."""
    most_frequent = predicted.labels[np.bincount(predicted.true, minlength=len(predicted.labels)).argmax()]
    facts = {"mistakes": f"{np.sum(~predicted.right):,} of {len(predicted.rows):,}"}
    found = []
    if predicted.positive is None:
        facts["mean F1 of the labels"] = percent(metrics["macro_f1"])
    else:
        label, positive = predicted.labels[predicted.positive], predicted.true == predicted.positive
        is_given = predicted.given == predicted.positive
        found = [
            f"{np.sum(positive & is_given):,} of {count(positive.sum(), 'row')} of the label “{label}” found: a "
            f"sensitivity of {_with_interval(metrics, 'sensitivity')}.",
            f"{np.sum(~positive & is_given):,} of {count(np.sum(~positive), 'other row')} taken for “{label}”: a "
            f"specificity of {_with_interval(metrics, 'specificity')}.",
        ]
        area = between(metrics["roc_auc_low"], metrics["roc_auc_high"])
        facts |= {"ROC AUC": f"{metrics['roc_auc']:.4f} ({area})"}
    return Headline(
        metric=percent(metrics["accuracy"]),
        sentence=f"{predicted.right.sum():,} of {count(len(predicted.rows), 'row')} got the right label: an accuracy "
        f"of {_with_interval(metrics, 'accuracy')}.",
        warnings=[
            *warnings.of_labels(metrics, predicted.labels, predicted.true, predicted.given),
            *warnings.of_unseen(predicted.leaked, metrics, split=split, unit="row"),
        ],
        remarks=[
            *found,
            f"Always predicting “{most_frequent}” would be right for {percent(metrics['baseline_accuracy'])}.",
            "In brackets are 95% intervals: where the fractions may lie in many such rows. A difference within them "
            "may be chance.",
        ],
        facts=facts | of_members,
    )


def confused(predicted: PredictedRows, metrics: dict[str, float]) -> Section:
    """Show the confusion matrix, and without a positive label the metrics of each label."""
    tables = [predicted.table(metrics)] if predicted.positive is None else []
    return Section("Confusion matrix", [*predicted.confusion_matrix(), *tables])


def curves(predicted: PredictedRows, metrics: dict[str, float], operating_point: OperatingPoint | None) -> Section:
    """ROC and precision-recall curve of the positive label, with the point that the given labels stand for."""
    label, positive = predicted.labels[predicted.positive], predicted.true == predicted.positive
    if operating_point is None:
        said = f"A row is given “{label}” where no other label has a higher score."
        words = "labels as given"
    else:
        before, threshold = operating_point.metrics, _threshold(operating_point.threshold)
        said = (
            f"A row is given “{label}” where its score reaches {threshold}. This operating point was chosen on "
            f"validation rows; there it had a sensitivity of {_with_interval(before, 'sensitivity')} and a specificity "
            f"of {_with_interval(before, 'specificity')}."
        )
        words = f"operating point {threshold}"
    scores, found = predicted.probability, metrics["sensitivity"]
    roc = tabular_plots.roc(scores, positive, (1 - metrics["specificity"], found), words=words)
    precision = metrics[f"precision/{label}"]
    precision_recall = tabular_plots.precision_recall(scores, positive, (found, precision), words=words)
    curves = [
        Picture("roc", svg(roc), "ROC curve, with the point at which rows are given their labels"),
        Picture("precision_recall", svg(precision_recall), "precision-recall curve, with the same point"),
    ]
    return Section(
        "Thresholds",
        [
            Text(f"{said} A lower threshold finds more of these rows, and takes more others for them."),
            Panels(curves),
            Text(
                f"The area below the ROC curve says how often a row that is “{label}” scores above another row: "
                f"{metrics['roc_auc']:.4f} (95% interval {between(metrics['roc_auc_low'], metrics['roc_auc_high'])})."
            ),
        ],
    )


def mistakes(predicted: PredictedRows, whole: Importance) -> Section:
    """List the wrong predictions with the lowest scores of the true label, with what identifies their rows."""
    wrong = np.flatnonzero(~predicted.right)
    of_truth = predicted.scores[wrong, predicted.true[wrong]]
    worst = wrong[np.argsort(of_truth, kind="stable")][:WORST_MISTAKES]
    if not len(worst):
        return Section("Worst mistakes", [Text("There are none: every row got the right label.")])
    identifiers = predicted.identifiers[:MAX_IDENTIFIERS]
    most = "columns with most attention" if predicted.attention is not None else "values of important columns"
    has_most = predicted.attention is not None or len(whole.important)
    heads = [", ".join(identifiers) or "row", "mistake", "true label's score", *([most] if has_most else []), "line"]
    table = [
        [
            ", ".join(_short(predicted.rows[number][name]) for name in identifiers or [ROW]),
            f"{predicted.labels[predicted.true[number]]} predicted as {predicted.labels[predicted.given[number]]}",
            percent(predicted.scores[number, predicted.true[number]]),
            *([_most(predicted, whole, number)] if has_most else []),
            predicted.rows[number][ROW].rpartition(":")[2],
        ]
        for number in worst
    ]
    words = f"{shown_of(len(worst), len(wrong))}, the worst first: at times it is the table that is wrong."
    return Section("Worst mistakes", [Text(words), Table(heads, table)])


def _most(predicted: PredictedRows, whole: Importance, number: int) -> str:
    if predicted.attention is None:
        places, notes = whole.important[:SHOWN_COLUMNS], [""] * len(predicted.columns)
    else:
        weights = predicted.attention[number]
        places, notes = np.argsort(-weights, kind="stable")[:SHOWN_COLUMNS], [f" ({weight:.0%})" for weight in weights]
    names = [predicted.columns[place] for place in places]
    return ", ".join(
        f"{name} = {_short(predicted.rows[number][name])}{notes[place]}"
        for name, place in zip(names, places, strict=True)
    )


def essential(predicted: PredictedRows, models: int) -> Section:
    """Which values the essential features have in the rows of each label."""
    numbers = count(predicted.essential.shape[1], "number")
    words = (
        f"Between the columns and its prediction the model keeps {numbers} of a row; nothing else decides. "
        "Where the labels lie apart in one of them, that number alone tells them apart. "
        f"results.tsv has them for every row."
    )
    if models > 1:
        words += f" Each of the {models} members has its own; these are their means."
    picture = tabular_plots.spreads(predicted.essential, predicted.true, predicted.labels)
    return Section(
        "Essential features",
        [Text(words), Picture("essential", svg(picture), "values of each essential feature by true label")],
    )


def certainty(predicted: PredictedRows, groups: Sequence[tuple[int, float, float]]) -> Section:
    """Whether scores are as high as their predictions are often right, by groups of metrics.calibration."""
    names = {}
    if predicted.positive is not None:
        label = _short(predicted.labels[predicted.positive])
        names = {
            "score": f"score of “{label}”",
            "fraction": f"fraction that is “{label}”",
            "diagonal": "perfect calibration",
        }
    return Section(
        "Calibration",
        [
            Text("A score is the fraction of correct predictions where its dot is on the dashed line."),
            Picture("calibration", svg(plots.reliability(groups, **names)), "fraction of correct predictions by score"),
        ],
    )


def _with_interval(metrics: dict[str, float], name: str) -> str:
    return f"{percent(metrics[name])} ({percents(metrics[f'{name}_low'], metrics[f'{name}_high'])})"


def _threshold(threshold: float) -> str:
    """In as many digits as tell it from 0 and 1."""
    return f"{threshold:.4g}" if threshold < 0.9995 else f"{threshold:.7g}"


def _short(value: str) -> str:
    return value if len(value) <= MAX_CHARACTERS else f"{value[: MAX_CHARACTERS - 1]}…"
